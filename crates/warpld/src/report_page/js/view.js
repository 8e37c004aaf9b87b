// Elements and formats. Names become text nodes and attributes, never markup.
function el(tag, properties, ...children) {
  const e = document.createElement(tag);
  for (const [key, value] of Object.entries(properties || {})) {
    if (value === undefined || value === null) continue;
    if (key === "class") e.className = value;
    else if (key.startsWith("on")) e.addEventListener(key.slice(2), value);
    else if (key === "text") e.textContent = value;
    else if (key === "style") for (const [k, v] of Object.entries(value)) e.style.setProperty(k, v);
    else e.setAttribute(key, value);
  }
  e.append(...children.filter((c) => c !== null && c !== undefined));
  return e;
}
function svg(tag, attributes, ...children) {
  const e = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (key.startsWith("on")) e.addEventListener(key.slice(2), value);
    else e.setAttribute(key, value);
  }
  e.append(...children);
  return e;
}
const digits = new Intl.NumberFormat("en-US");
const num = (n) => digits.format(n);
const hex = (n) => "0x" + n.toString(16);
function bytes(n) {
  if (n < 10000) return `${num(n)} B`;
  const units = ["KiB", "MiB", "GiB", "TiB"];
  let u = -1;
  do { n /= 1024; u++; } while (n >= 1000 && u < 3);
  return `${n < 10 ? n.toFixed(2) : n < 100 ? n.toFixed(1) : Math.round(n)} ${units[u]}`;
}
const percent = (part, whole) => (whole ? `${((100 * part) / whole).toFixed(part / whole < 0.1 ? 1 : 0)} %` : "");
const plural = (n, one, many) => `${num(n)} ${n === 1 ? one : many}`;
const name = (value, title) => el("span", { class: "name", title }, value);
const link = (value, href, title) => el("a", { class: "name", href, title }, value);
const inputName = (o) => name(objectName(o), objectPath(o));
const functionLink = (f) => link(nameOf(f), `#graph/${f}`, symbolOf(f));
const color = (variable) => getComputedStyle(document.documentElement).getPropertyValue(variable).trim();
// A part of a limit as a small bar; the number stands beside it.
function meter(value, most) {
  const bar = el("i", { style: { width: `${Math.min(100, (100 * value) / most)}%` } });
  return el("span", { class: "meter", "aria-hidden": "true", title: `${num(value)} of ${num(most)}` }, bar);
}
function choice(label, options, current, choose) {
  const group = el("span", { class: "choice", role: "group", "aria-label": label });
  for (const [key, title] of options) {
    group.append(el("button", { type: "button", "data-key": key, "aria-pressed": String(key === current), onclick: () => {
      for (const b of group.children) b.setAttribute("aria-pressed", String(b.dataset.key === String(key)));
      choose(key);
    } }, title));
  }
  return group;
}
function legend(entries) {
  return el("div", { class: "legend" }, ...entries.map(([variable, label]) =>
    el("span", {}, el("i", { style: { background: `var(${variable})` } }), label)));
}

// The tip beside the pointer.
const tip = document.getElementById("tip");
function showTip(event, value) {
  tip.hidden = !value;
  if (!value) return;
  tip.textContent = value;
  const x = Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8);
  const below = event.clientY + 18;
  const y = below + tip.offsetHeight > innerHeight ? event.clientY - tip.offsetHeight - 10 : below;
  tip.style.left = `${Math.max(4, x)}px`;
  tip.style.top = `${Math.max(4, y)}px`;
}

// A canvas that is drawn again when its size or the theme changes.
function canvas(properties, draw) {
  const e = el("canvas", properties);
  const paint = () => {
    const { width, height } = e.getBoundingClientRect();
    if (!width || !height) return;
    const scale = devicePixelRatio || 1;
    e.width = Math.round(width * scale);
    e.height = Math.round(height * scale);
    const c = e.getContext("2d");
    c.scale(scale, scale);
    draw(c, width, height);
  };
  const observer = new ResizeObserver(paint);
  observer.observe(e);
  e.paint = paint;
  return e;
}
// Text that fits, or nothing.
function fit(c, value, width) {
  if (c.measureText(value).width <= width) return value;
  let low = 0, high = value.length;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (c.measureText(value.slice(0, middle) + "…").width <= width) low = middle;
    else high = middle - 1;
  }
  return low > 4 ? value.slice(0, low) + "…" : "";
}
