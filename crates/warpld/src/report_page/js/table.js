// A table that sorts and filters. Only so many rows are in the document: a button, and scrolling to it, adds more.
const PAGE = 120;

// columns: { key, label, value(row), cell(row), numeric, class }; options: { caption, words(row), sort, inside(row), key }
function table(columns, rows, options) {
  let sort = options.sort || { key: columns[0].key, down: false };
  let query = "", shown = rows, count = 0;
  const words = new Map();
  const caption = el("caption", { "aria-live": "polite" });
  const body = el("tbody");
  const heads = columns.map((column) => {
    const head = el("th", { scope: "col", class: column.numeric ? "n" : null, "aria-sort": "none", title: column.title });
    head.append(el("button", { type: "button", onclick: () => sortBy(column) }, column.label));
    return head;
  });
  const more = el("button", { type: "button", class: "more", onclick: () => add() }, "Show more");
  const grid = el("table", {}, caption, el("thead", {}, el("tr", {}, ...heads)), body);
  const box = el("div", { class: "table" }, el("div", { class: "scroll" }, grid), more);
  new IntersectionObserver((entries) => { if (entries.some((e) => e.isIntersecting)) add(); }).observe(more);

  function sortBy(column) {
    sort = sort.key === column.key ? { key: column.key, down: !sort.down } : { key: column.key, down: Boolean(column.numeric) };
    update();
  }
  function haystack(row) {
    if (!words.has(row)) words.set(row, options.words(row).toLowerCase());
    return words.get(row);
  }
  function update() {
    const terms = query.toLowerCase().split(/\s+/).filter(Boolean);
    shown = terms.length ? rows.filter((row) => terms.every((t) => haystack(row).includes(t))) : rows.slice();
    const column = columns.find((c) => c.key === sort.key);
    const keys = new Map(shown.map((row) => [row, column.value(row)]));
    const compare = column.numeric ? (a, b) => a - b : (a, b) => (a < b ? -1 : a > b ? 1 : 0);
    // Rows with the same value keep their order, which is that of the link.
    shown.sort((a, b) => compare(keys.get(a), keys.get(b)) * (sort.down ? -1 : 1));
    columns.forEach((c, i) => heads[i].setAttribute("aria-sort", c.key !== sort.key ? "none" : sort.down ? "descending" : "ascending"));
    const total = shown.length === rows.length ? num(rows.length) : `${num(shown.length)} of ${num(rows.length)}`;
    caption.textContent = `${options.caption}: ${total}`;
    body.replaceChildren();
    count = 0;
    add();
  }
  function add() {
    const next = shown.slice(count, count + PAGE);
    body.append(...next.map(rowElement));
    count += next.length;
    more.hidden = count >= shown.length;
    more.textContent = `Show more (${num(shown.length - count)})`;
  }
  function rowElement(row) {
    const line = el("tr", { "data-key": options.key ? options.key(row) : null });
    columns.forEach((column, i) => {
      const cell = el("td", { class: [column.numeric ? "n" : "", column.class || ""].join(" ").trim() || null });
      const content = column.cell ? column.cell(row) : column.value(row);
      if (i === 0 && options.inside) cell.append(opener(line, row));
      cell.append(...[].concat(typeof content === "number" ? num(content) : content));
      line.append(cell);
    });
    if (options.inside) {
      line.className = "opens";
      line.addEventListener("click", (event) => { if (!event.target.closest("a, button")) toggle(line, row); });
    }
    return line;
  }
  function opener(line, row) {
    return el("button", { type: "button", class: "open", "aria-expanded": "false", "aria-label": "Details", onclick: () => toggle(line, row) }, "▸");
  }
  function toggle(line, row, open) {
    const button = line.querySelector(".open");
    const isOpen = button.getAttribute("aria-expanded") === "true";
    if (open && isOpen) return;
    button.setAttribute("aria-expanded", String(!isOpen));
    button.textContent = isOpen ? "▸" : "▾";
    if (isOpen) line.nextElementSibling.remove();
    else line.after(el("tr", { class: "inside" }, el("td", { colspan: columns.length }, ...options.inside(row))));
  }
  // Opens a row, however far down it is.
  box.open = (row) => {
    const at = shown.indexOf(row);
    if (at < 0) return;
    while (count <= at) add();
    const lines = [...body.children].filter((line) => !line.classList.contains("inside"));
    toggle(lines[at], row, true);
    lines[at].scrollIntoView({ block: "center" });
  };
  // Returns how many rows are left.
  box.filter = (value) => { query = value; update(); return shown.length; };
  update();
  return box;
}
