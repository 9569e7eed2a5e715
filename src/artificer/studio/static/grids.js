// Sorts and filters tables at once, by the ranks that the page holds, and copies their rows.
"use strict";

const ORDERS = { "": "ascending", ascending: "descending", descending: "" };

const place = (row, column) => {
  const rank = row.cells[column].dataset.rank;
  return rank === "" ? null : Number(rank);
};

const arrange = (grid, column, order) => {
  const body = grid.querySelector("tbody");
  const sign = order === "descending" ? -1 : 1;
  const rows = [...body.rows].sort((a, b) => Number(a.dataset.at) - Number(b.dataset.at));
  if (order) {
    rows.sort((a, b) => {
      const [one, other] = [place(a, column), place(b, column)];
      if (one === null || other === null) return (one === null) - (other === null);
      return sign * (one - other);
    });
  }
  body.append(...rows);
  [...grid.querySelectorAll("thead th")].forEach((head, index) => {
    if (order && index === column) head.setAttribute("aria-sort", order);
    else head.removeAttribute("aria-sort");
  });
};

const words = (cell) => (cell.querySelector(".none") ? "" : cell.firstChild?.textContent ?? "").toLowerCase();

const sift = (grid) => {
  const wanted = grid.querySelector("[name=find]").value.trim().toLowerCase();
  const rows = [...grid.querySelectorAll("tbody tr")];
  for (const row of rows) row.hidden = wanted !== "" && ![...row.cells].some((cell) => words(cell).includes(wanted));
  const left = rows.filter((row) => !row.hidden).length;
  say(grid, wanted ? `${left} of ${rows.length} ${rows.length === 1 ? "row" : "rows"}` : "");
};

const say = (grid, text) => {
  grid.querySelector("[data-count]").textContent = text;
};

const remember = (grid) => {
  const address = new URL(location.href);
  const heads = [...grid.querySelectorAll("thead th")];
  const at = heads.findIndex((head) => head.hasAttribute("aria-sort"));
  const find = grid.querySelector("[name=find]").value.trim();
  for (const [name, value] of [["sort", at < 0 ? "" : String(at + 1)],
    ["down", at >= 0 && heads[at].getAttribute("aria-sort") === "descending" ? "1" : ""], ["find", find]]) {
    if (value) address.searchParams.set(name, value);
    else address.searchParams.delete(name);
  }
  history.replaceState(null, "", address);
};

const lines = (grid) => {
  const heads = [...grid.querySelectorAll("thead th")].map((head) => head.dataset.plain);
  const rows = [...grid.querySelectorAll("tbody tr")].filter((row) => !row.hidden);
  return [heads, ...rows.map((row) => [...row.cells].map((cell) => cell.dataset.plain))];
};

const copied = async (text) => {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = document.createElement("textarea"); // where the page is not served over TLS
    area.value = text;
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  }
};

for (const grid of document.querySelectorAll("[data-grid]")) {
  grid.querySelector("[data-filter]").hidden = true;
  const button = grid.querySelector("[data-copy]");
  button.hidden = false;
  button.addEventListener("click", async () => {
    const rows = lines(grid);
    const done = await copied(rows.map((row) => row.join("\t")).join("\n"));
    button.focus();
    const count = rows.length - 1;
    say(grid, done ? `Copied ${count} ${count === 1 ? "row" : "rows"}.` : "The browser did not allow it. Download the file.");
  });
  grid.addEventListener("click", (event) => {
    const link = event.target.closest("a.sort");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    const head = link.closest("th");
    arrange(grid, head.cellIndex, ORDERS[head.getAttribute("aria-sort") ?? ""]);
    remember(grid);
  });
  grid.querySelector("form").addEventListener("submit", (event) => event.preventDefault());
  grid.querySelector("[name=find]").addEventListener("input", () => {
    sift(grid);
    remember(grid);
  });
}
