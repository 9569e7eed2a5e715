// Files of a prompt or a message: dropped and pasted ones join those that were chosen.
"use strict";

const LARGEST = 10_000_000; // bytes of one file that a run takes, unless its limits say otherwise

const sizeOf = (bytes) => (bytes < 1_000_000 ? `${Math.ceil(bytes / 1000)} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`);

const picked = (form) => form.querySelector('input[type="file"]');

const show = (input) => {
  const notice = input.closest(".files").querySelector('[role="status"]');
  const files = [...input.files];
  const most = Number(input.dataset.most);
  const large = files.find((file) => file.size > LARGEST);
  let problem = "";
  if (files.length > most) problem = `At most ${most} files at once.`;
  else if (large) problem = `${large.name} has ${sizeOf(large.size)}; a file has at most ${sizeOf(LARGEST)}.`;
  input.setCustomValidity(problem);
  notice.textContent = problem || files.map((file) => `${file.name} (${sizeOf(file.size)})`).join(", ");
  notice.classList.toggle("problem", Boolean(problem));
};

const add = (input, files) => {
  const all = new DataTransfer();
  for (const file of [...input.files, ...files]) all.items.add(file);
  input.files = all.files;
  show(input);
};

const formAt = (event) => event.target instanceof Element && event.target.closest("form[data-files]");

document.addEventListener("change", (event) => {
  if (event.target.matches('form[data-files] input[type="file"]')) show(event.target);
});

for (const kind of ["dragover", "dragleave", "drop"]) {
  document.addEventListener(kind, (event) => {
    const form = formAt(event);
    if (!form || !picked(form) || !event.dataTransfer.types.includes("Files")) return;
    event.preventDefault();
    form.classList.toggle("dropping", kind === "dragover");
    if (kind === "drop") add(picked(form), event.dataTransfer.files);
  });
}

document.addEventListener("paste", (event) => {
  const form = formAt(event);
  if (form && picked(form) && event.clipboardData.files.length) add(picked(form), event.clipboardData.files);
});
