// The views, and how to get from one to another: by the address, so that a view can be linked to.
const live = [];
const removed = [];
for (let f = 0; f < FUNCTIONS; f++) (isRemoved(f) ? removed : live).push(f);
// Functions of the driver, such as vprintf, are called and not in the output.
const inOutput = live.filter(isDefined);
const ignored = INPUTS.filter((input) => input.fate === "ignored");
const droppedBytes = COPIES.reduce((sum, c) => sum + c.bytes, 0);
const sameBytes = SAME.reduce((sum, s) => sum + s.extra, 0);
const totalTime = TIMES.filter((t) => t[0] === "step").reduce((sum, t) => sum + t[2], 0);
const functionWords = (f) => `${nameOf(f)} ${symbolOf(f)} ${objectName(F.object[f])}`;

function overview() {
  const figures = [
    ["Output", bytes(D.size), `${num(D.size)} bytes`], ["Inputs", num(D.objects.length)], ["Kernels", num(KERNELS.length)],
    ["Functions", num(inOutput.length)], ["Sections", num(S.name.length)],
    ["Global memory", bytes(D.global)], ["Constants", bytes(D.constant || 0)],
    ["Dropped copies", bytes(droppedBytes)], ["Same code twice", bytes(sameBytes)], ["Time", `${totalTime.toFixed(1)} ms`],
  ];
  const map = treemap();
  const box = el("div", {}, el("dl", { class: "figures" }, ...figures.map(([key, value, title]) =>
    el("div", { title }, el("dt", {}, key), el("dd", {}, value)))), map);
  box.filter = map.filter;
  return box;
}

function because(f) {
  return f < 0 ? "" : el("div", { class: "because" }, "because of ", functionLink(f));
}
function kernelsView(start) {
  const inside = (k) => {
    const maps = MEMORY.filter((m) => m.kernel === k.f);
    return [
      el("p", {}, el("span", { class: "mono name" }, symbolOf(k.f)), " · ", link("call graph", `#graph/${k.f}`)),
      ...chains(k),
      ...maps.flatMap((m) => [
        el("h3", {}, link(`${spaceName(m.space)}, ${bytes(m.size)}`, `#memory/${MEMORY.indexOf(m)}`)), memoryPicture(m)]),
      k.textures + k.surfaces + k.samplers ? el("p", {}, `${k.textures} textures, ${k.surfaces} surfaces, ${k.samplers} samplers`) : null,
    ].filter(Boolean);
  };
  const list = table([
    { key: "name", label: "Kernel", class: "label", value: (k) => nameOf(k.f), cell: (k) => name(nameOf(k.f), symbolOf(k.f)) },
    { key: "registers", label: "Registers", numeric: true, value: (k) => k.registers, cell: (k) => [num(k.registers), meter(k.registers, D.limits.registers), because(k.registersFrom)] },
    { key: "stack", label: "Stack", numeric: true, value: (k) => (k.recursive ? Infinity : k.stack), cell: (k) => (k.recursive ? "unknown" : num(k.stack)) },
    { key: "shared", label: "Shared", numeric: true, value: (k) => k.shared, cell: (k) => [num(k.shared), meter(k.shared, D.limits.shared)] },
    { key: "bank0", label: "Const 0", title: "Constant bank 0: parameters", numeric: true, value: (k) => k.bank0 },
    { key: "bank2", label: "Const 2", title: "Constant bank 2: constants that the compiler made", numeric: true, value: (k) => k.bank2 },
    { key: "barriers", label: "Barriers", numeric: true, value: (k) => k.barriers },
    { key: "size", label: "Code", title: "Bytes of the kernel itself", numeric: true, value: (k) => F.size[k.f] },
    { key: "reaches", label: "Reaches", title: "Functions that it may call", numeric: true, value: (k) => reachOf(k).count },
    { key: "all", label: "With callees", title: "Bytes of the kernel and of all that it reaches", numeric: true, value: (k) => reachOf(k).bytes },
    { key: "object", label: "Input", class: "side", value: (k) => objectName(F.object[k.f]), cell: (k) => inputName(F.object[k.f]) },
  ], KERNELS, { caption: "Kernels", words: (k) => functionWords(k.f), sort: { key: "registers", down: true }, inside, key: (k) => k.f });
  if (start >= 0 && kernelOf.has(start)) setTimeout(() => list.open(kernelOf.get(start)));
  return list;
}

function functionsView() {
  return table([
    { key: "name", label: "Function", class: "label", value: nameOf, cell: (f) => [functionLink(f), isKernel(f) ? el("span", { class: "dim" }, " kernel") : isTaken(f) ? el("span", { class: "dim" }, " address taken") : ""] },
    { key: "size", label: "Bytes", numeric: true, value: (f) => F.size[f] },
    { key: "registers", label: "Registers", numeric: true, value: (f) => F.registers[f] },
    { key: "frame", label: "Stack", numeric: true, value: (f) => F.frame[f] },
    { key: "barriers", label: "Barriers", numeric: true, value: (f) => F.barriers[f] },
    { key: "callers", label: "Callers", numeric: true, value: (f) => callersOf(f).length },
    { key: "calls", label: "Calls", numeric: true, value: (f) => calleesOf(f).length },
    { key: "object", label: "Input", class: "side", value: (f) => objectName(F.object[f]), cell: (f) => inputName(F.object[f]) },
  ], inOutput, { caption: "Functions in the output", words: functionWords, sort: { key: "size", down: true }, key: String });
}

function droppedView() {
  const tables = [];
  const part = (title, explanation, empty, list) => {
    tables.push(list);
    return [el("h2", {}, title), el("p", { class: "dim" }, explanation), list ? list : el("p", {}, empty)];
  };
  const functions = removed.length ? table([
    { key: "name", label: "Function", class: "label", value: nameOf, cell: (f) => functionLink(f) },
    { key: "size", label: "Bytes", numeric: true, value: (f) => F.size[f] },
    { key: "why", label: "Why", class: "label", value: whyRemoved },
    { key: "object", label: "Input", class: "side", value: (f) => objectName(F.object[f]), cell: (f) => inputName(F.object[f]) },
  ], removed, { caption: "Removed functions", words: functionWords, sort: { key: "size", down: true }, key: String }) : null;
  const copies = COPIES.length ? table([
    { key: "name", label: "Name", class: "label", value: (c) => c.name, cell: (c) => (c.f < 0 ? name(c.name) : functionLink(c.f)) },
    { key: "count", label: "Dropped copies", numeric: true, value: (c) => c.dropped.length },
    { key: "bytes", label: "Bytes in the inputs", numeric: true, value: (c) => c.bytes },
    { key: "left", label: "Still in the output", title: "Tables of dropped copies that kernels still have", numeric: true, value: (c) => c.left },
    { key: "kept", label: "Kept", class: "side", value: (c) => objectName(c.kept), cell: (c) => inputName(c.kept) },
  ], COPIES, { caption: `Names with several definitions (${bytes(droppedBytes)} dropped)`, words: (c) => `${c.name} ${objectName(c.kept)}`, sort: { key: "bytes", down: true }, inside: copiesInside }) : null;
  const same = SAME.length ? table([
    { key: "name", label: "Functions", class: "label", value: (s) => nameOf(s.functions[0]), cell: (s) => name(nameOf(s.functions[0])) },
    { key: "count", label: "Copies", numeric: true, value: (s) => s.functions.length },
    { key: "size", label: "Bytes each", numeric: true, value: (s) => s.size },
    { key: "extra", label: "Duplicate bytes", numeric: true, value: (s) => s.extra },
  ], SAME, { caption: `Groups (${bytes(sameBytes)} of duplicates)`, words: (s) => s.functions.map(functionWords).join(" "), sort: { key: "extra", down: true }, inside: sameInside }) : null;
  const inputs = ignored.length ? table([
    { key: "name", label: "Input", class: "label", value: (i) => i.name, cell: (i) => name(i.name) },
    { key: "why", label: "Why", value: (i) => i.reason || "nothing in it is for the target" },
  ], ignored, { caption: "Ignored inputs", words: (i) => i.name }) : null;
  const box = el("div", {},
    ...part("Removed functions", "Functions that no kernel of the output reaches, and kernels that nobody asked for.", "No function was removed.", functions),
    ...part("Copies of one name", "Of several definitions of one name, such as weak functions and templates, one is in the output. The others cost compile time and space in the inputs.", "Every name has one definition.", copies),
    ...part("Same code under several names", "Functions of the output whose code is the same before relocation, such as static functions of a header.", "No two functions have the same code.", same),
    ...part("Ignored inputs", "Inputs from which nothing was linked.", "Every input was linked.", inputs));
  box.filter = (query) => tables.forEach((t) => t && t.filter(query));
  return box;
}
function copiesInside(c) {
  const registers = c.f >= 0 ? `, ${c.registers} registers` : "";
  return [
    el("p", {}, "Kept: ", inputName(c.kept), registers),
    table([
      { key: "object", label: "Input", class: "label", value: (d) => objectName(d.object), cell: (d) => inputName(d.object) },
      { key: "bytes", label: "Bytes", numeric: true, value: (d) => d.bytes },
      { key: "registers", label: "Registers", numeric: true, value: (d) => d.registers },
      { key: "fate", label: "Fate", value: (d) => (d.replaced ? "replaced by a later definition" : "another one came first or was better") },
    ], c.dropped, { caption: "Dropped", words: (d) => objectName(d.object), sort: { key: "bytes", down: true } }),
  ];
}
function sameInside(s) {
  return [table([
    { key: "name", label: "Function", class: "label", value: nameOf, cell: (f) => functionLink(f) },
    { key: "symbol", label: "Symbol", class: "label", value: symbolOf, cell: (f) => el("span", { class: "mono name" }, symbolOf(f)) },
    { key: "object", label: "Input", class: "side", value: (f) => objectName(F.object[f]), cell: (f) => inputName(F.object[f]) },
  ], s.functions, { caption: "Functions", words: functionWords })];
}

function inputsView() {
  const rows = D.objects.map((_, o) => ({ o, bytes: 0, code: 0, kept: 0, removed: 0, dropped: 0 }));
  for (const leaf of leaves()) {
    if (leaf.object < 0) continue;
    rows[leaf.object].bytes += leaf.size;
    if (groupOf(leaf.section) === 0) rows[leaf.object].code += leaf.size;
  }
  for (let f = 0; f < FUNCTIONS; f++) if (F.object[f] >= 0) rows[F.object[f]][isRemoved(f) ? "removed" : "kept"]++;
  for (const c of COPIES) for (const d of c.dropped) if (rows[d.object]) rows[d.object].dropped += d.bytes;
  const fates = new Map(INPUTS.map((input) => [input.name, input.fate]));
  return table([
    { key: "name", label: "Input", class: "label", value: (r) => objectName(r.o), cell: (r) => inputName(r.o) },
    { key: "fate", label: "Fate", value: (r) => fates.get(objectPath(r.o)) || "linked" },
    { key: "bytes", label: "Bytes in the output", numeric: true, value: (r) => r.bytes },
    { key: "share", label: "Share", numeric: true, value: (r) => r.bytes, cell: (r) => percent(r.bytes, D.size) },
    { key: "code", label: "Code", numeric: true, value: (r) => r.code },
    { key: "kept", label: "Functions", numeric: true, value: (r) => r.kept },
    { key: "removed", label: "Removed", numeric: true, value: (r) => r.removed },
    { key: "dropped", label: "Dropped copies, bytes", numeric: true, value: (r) => r.dropped },
  ], rows, { caption: FOLDER ? `Inputs in ${FOLDER}` : "Inputs", words: (r) => objectName(r.o), sort: { key: "bytes", down: true } });
}

function timeView() {
  const most = Math.max(...TIMES.map((t) => t[2]), 0.001);
  const list = (kind, caption) => {
    const rows = TIMES.map((t, i) => ({ i, kind: t[0], name: t[1], ms: t[2] })).filter((t) => t.kind === kind);
    return rows.length ? table([
      { key: "i", label: "Order", numeric: true, value: (t) => t.i + 1 },
      { key: "name", label: kind === "step" ? "Phase" : "Compiler", class: "label", value: (t) => t.name, cell: (t) => name(t.name) },
      { key: "ms", label: "Milliseconds", numeric: true, value: (t) => t.ms, cell: (t) => t.ms.toFixed(3) },
      { key: "bar", label: "Share", value: (t) => t.ms, cell: (t) => { const m = meter(t.ms, most); m.classList.add("wide"); return m; } },
    ], rows, { caption, words: (t) => t.name, sort: { key: "i", down: false } }) : null;
  };
  return el("div", {}, el("h2", {}, `Phases, ${totalTime.toFixed(1)} ms in total`), list("step", "Phases"), ...[list("compiler", "Runs of compilers")].filter(Boolean).flatMap((t) => [
    el("h2", {}, "Compilers"), el("p", { class: "dim" }, "They run side by side while images are chosen."), t]));
}

const VIEWS = {
  overview: ["Overview", overview],
  kernels: ["Kernels", kernelsView, KERNELS.length],
  functions: ["Functions", functionsView, inOutput.length],
  graph: ["Call graph", (f) => graphView(f >= 0 && f < FUNCTIONS ? f : defaultFunction())],
  memory: ["Memory", memoryView, MEMORY.length],
  dropped: ["Dropped", droppedView, removed.length + COPIES.length],
  inputs: ["Inputs", inputsView, D.objects.length],
  time: ["Time", timeView],
};
function defaultFunction() {
  const best = KERNELS.reduce((a, k) => (!a || reachOf(k).count > reachOf(a).count ? k : a), null);
  return best ? best.f : 0;
}

const main = document.getElementById("main");
const search = document.getElementById("search");
let view = null;
function show() {
  const [where, which] = location.hash.slice(1).split("/");
  const key = Object.hasOwn(VIEWS, where) ? where : "overview";
  showTip(null, null);
  if (FUNCTIONS === 0 && key === "graph") view = el("p", {}, "The link has no functions.");
  else view = VIEWS[key][1](which === undefined ? -1 : Number(which));
  main.replaceChildren(view);
  for (const a of document.querySelectorAll("#nav a")) {
    if (a.dataset.view === key) a.setAttribute("aria-current", "page");
    else a.removeAttribute("aria-current");
  }
  if (search.value && view.filter) view.filter(search.value);
  scrollTo(0, 0);
}

// A pause in typing, so that long tables are not made again for each letter.
let typing = 0;
search.addEventListener("input", () => {
  clearTimeout(typing);
  typing = setTimeout(() => { if (view && view.filter) view.filter(search.value); }, 60);
});
addEventListener("keydown", (event) => {
  const inField = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
  if (event.key === "/" && !inField) { event.preventDefault(); search.focus(); search.select(); }
  if (event.key === "Escape" && event.target === search) {
    search.value = "";
    if (view && view.filter) view.filter("");
    search.blur();
  }
});

// Follows the system until the button is used. Some browsers keep nothing for files: then it holds for this visit.
const dark = matchMedia("(prefers-color-scheme: dark)");
const themeButton = document.getElementById("theme");
let theme = null;
try { theme = localStorage.getItem("warpld-report-theme"); } catch { theme = null; }
function applyTheme() {
  const now = theme === "dark" || theme === "light" ? theme : dark.matches ? "dark" : "light";
  document.documentElement.dataset.theme = now;
  themeButton.textContent = now === "dark" ? "Light" : "Dark";
  themeButton.setAttribute("aria-label", now === "dark" ? "Use light colours" : "Use dark colours");
  for (const c of document.querySelectorAll("canvas")) c.paint();
}
themeButton.addEventListener("click", () => {
  theme = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
  try { localStorage.setItem("warpld-report-theme", theme); } catch { /* for this visit */ }
  applyTheme();
});
dark.addEventListener("change", applyTheme);

document.getElementById("output").textContent = text(D.output) || "output";
document.title = `${text(D.output) || "output"}: link report`;
document.getElementById("facts").textContent = [
  D.target, bytes(D.size), D.relocatable ? "relocatable" : "executable", D.mercury ? "machine code and Mercury" : "", text(D.tool),
].filter(Boolean).join(" · ");
document.getElementById("nav").append(...Object.entries(VIEWS).map(([key, [label, , count]]) =>
  el("a", { href: `#${key}`, "data-view": key }, label, count === undefined ? "" : el("span", { class: "count" }, ` ${num(count)}`))));
applyTheme();
addEventListener("hashchange", show);
show();
document.documentElement.dataset.ready = "true";
