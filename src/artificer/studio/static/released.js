// Waits until nothing in an element is pressed: an element that is replaced meanwhile loses the click.

const FRAMES = 300; // how long a page waits for somebody who holds a button down

export const released = async (element) => {
  for (let frame = 0; frame < FRAMES && element.querySelector(":active"); frame += 1) {
    await new Promise(requestAnimationFrame);
  }
};
