// The call graph around a function: callers to the left, what it calls to the right, level by level.
const NODE = { width: 216, height: 38, gap: 8, between: 64, top: 30 };
const MANY = 16;

// The shortest chain from a kernel, both ends included.
function chainFromKernel(f) {
  const next = new Map([[f, -1]]);
  for (const g of next.keys()) {
    if (isKernel(g) && !isRemoved(g)) {
      const chain = [];
      for (let at = g; at >= 0; at = next.get(at)) chain.push(at);
      return chain;
    }
    for (const c of callersOf(g)) if (!next.has(c)) next.set(c, g);
  }
  return [];
}

function chainList(chain, kind, number) {
  return el("ol", { class: `chain ${kind}` }, ...chain.map((f, depth) => {
    const last = depth === chain.length - 1;
    return el("li", { style: { "--depth": depth } }, depth ? "→ " : "", functionLink(f), " ",
      el("span", { class: last && kind !== "stack" ? "at" : kind === "stack" && F.frame[f] ? "at" : "dim" }, number(f)));
  }));
}

function edgesOf(chain) {
  const edges = new Set();
  for (let i = 1; i < chain.length; i++) edges.add(`${chain[i - 1]}>${chain[i]}`);
  return edges;
}

function graphView(start) {
  let center = start, depth = 2;
  const limits = new Map();
  const place = el("div");
  const facts = el("div");
  const chainsPlace = el("div");
  const depths = choice("Levels of callees", [[1, "1"], [2, "2"], [3, "3"], [4, "4"]], depth, (d) => { depth = d; limits.clear(); draw(); });
  const order = Array.from({ length: FUNCTIONS }, (_, f) => f);
  const list = table([
    { key: "name", label: "Function", class: "label", value: nameOf, cell: functionLink },
    { key: "size", label: "Bytes", numeric: true, value: (f) => F.size[f] },
    { key: "kernel", label: "Kernel", numeric: true, value: (f) => (isKernel(f) ? 1 : 0), cell: (f) => (isKernel(f) ? "yes" : "") },
  ], order, { caption: "Functions", words: (f) => `${nameOf(f)} ${symbolOf(f)}`, sort: { key: "kernel", down: true }, key: String });

  function levels() {
    const left = callersOf(center).filter((f) => f !== center);
    const seen = new Set([center]);
    const right = [];
    let now = [center];
    for (let d = 0; d < depth && now.length; d++) {
      const next = [];
      for (const f of now) for (const c of calleesOf(f)) if (!seen.has(c)) { seen.add(c); next.push(c); }
      if (next.length) right.push(next);
      now = next;
    }
    return [left, [center], ...right];
  }
  function draw() {
    const kernel = kernelOf.get(center);
    const registers = kernel && kernel.registersFrom >= 0 ? chainTo(center, kernel.registersFrom) : [];
    const stack = kernel ? [center, ...kernel.chain] : [];
    const onChain = new Set([...registers, ...stack]);
    const columns = [];
    levels().forEach((all, column) => {
      // Of many, those on a chain come first, then those that something shown calls: edges are what one looks for.
      const before = column >= 2 ? new Set(columns[column - 1].shown.flatMap(calleesOf)) : new Set();
      const rank = (f) => (onChain.has(f) ? 4 : 0) + (before.has(f) ? 2 : 0) + (isKernel(f) ? 1 : 0);
      const sorted = all.slice().sort((a, b) => rank(b) - rank(a) || F.size[b] - F.size[a] || a - b);
      const most = limits.get(column) || MANY;
      columns.push({ all, column, shown: sorted.slice(0, sorted.length <= most + 1 ? most + 1 : most) });
    });
    const rows = Math.max(...columns.map((c) => c.shown.length + (c.shown.length < c.all.length ? 1 : 0)));
    const step = NODE.height + NODE.gap;
    // No column for callers where there are none.
    const first = columns[0].all.length ? 0 : 1;
    const left = (column) => 12 + (column - first) * (NODE.width + NODE.between);
    const height = NODE.top + rows * step + 8;
    const width = (columns.length - first) * (NODE.width + NODE.between) - NODE.between + 24;
    const at = new Map();
    columns.forEach(({ shown, column }) => {
      const offset = column === 1 ? ((Math.min(rows, 12) - 1) * step) / 2 : 0;
      shown.forEach((f, row) => at.set(`${column}:${f}`, [left(column), NODE.top + offset + row * step]));
    });
    const picture = svg("svg", { class: "graph", viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": `Call graph around ${nameOf(center)}` });
    // Few levels do not fill the width; they need not be larger than life.
    picture.style.maxWidth = `${Math.max(width, 400) * 1.15}px`;
    const heads = ["callers", kernel ? "kernel" : "function", "calls", "second level", "third level", "fourth level"];
    columns.forEach(({ all, column }) => {
      if (all.length) picture.append(svgText(heads[column] + (column === 1 ? "" : ` (${num(all.length)})`), left(column), 18, "head"));
    });
    drawEdges(picture, columns, at, edgesOf(registers), edgesOf(stack));
    for (const { shown, all, column } of columns) {
      shown.forEach((f) => picture.append(nodeElement(f, ...at.get(`${column}:${f}`), f === center && column === 1)));
      if (shown.length < all.length) {
        const y = NODE.top + shown.length * step;
        picture.append(moreElement(all.length - shown.length, left(column), y, () => { limits.set(column, shown.length + 60); draw(); }));
      }
    }
    place.replaceChildren(picture);
    facts.replaceChildren(...describe(center, kernel));
    chainsPlace.replaceChildren(...reasons(center, kernel, registers, stack));
  }
  draw();
  const box = el("div", {},
    el("div", { class: "split" },
      el("div", {},
        facts,
        el("div", { class: "bar" }, el("span", { class: "dim" }, "Levels of callees"), depths,
          legend([["--chain-a", "sets the registers"], ["--chain-b", "deepest stack"]])),
        place,
        chainsPlace),
      list));
  box.filter = (query) => list.filter(query);
  return box;
}

function svgText(value, x, y, style) {
  const t = svg("text", { x, y, class: style || "" });
  t.textContent = value;
  return t;
}
// Monospaced: about 7.25 units a character.
const cut = (value, most) => (value.length > most ? value.slice(0, most - 1) + "…" : value);
function nodeElement(f, x, y, here) {
  const style = ["node", isKernel(f) ? "kernel" : "", here ? "here" : "", isRemoved(f) ? "gone" : ""].join(" ").trim();
  const go = () => { location.hash = `#graph/${f}`; };
  const node = svg("g", { class: style, tabindex: "0", role: "link", "data-f": f, onclick: go, onkeydown: (e) => { if (e.key === "Enter") go(); } });
  const title = svg("title");
  title.textContent = `${nameOf(f)}\n${symbolOf(f)}`;
  const parts = isDefined(f) ? [`${F.registers[f]} regs`, F.frame[f] ? `${num(F.frame[f])} B stack` : "", bytes(F.size[f])] : ["not defined by an input"];
  if (calleesOf(f).includes(f)) parts.push("calls itself");
  node.append(title, svg("rect", { x, y, width: NODE.width, height: NODE.height, rx: 3 }),
    svgText(cut(nameOf(f), 28), x + 7, y + 15), svgText(cut(parts.filter(Boolean).join(" · "), 31), x + 7, y + 30, "dim"));
  return node;
}
function moreElement(count, x, y, show) {
  const node = svg("g", { class: "node", tabindex: "0", role: "button", onclick: show, onkeydown: (e) => { if (e.key === "Enter") show(); } });
  node.append(svg("rect", { x, y, width: NODE.width, height: NODE.height, rx: 3, "stroke-dasharray": "4 3" }), svgText(`${num(count)} more`, x + 7, y + 23, "dim"));
  return node;
}
function drawEdges(picture, columns, at, registers, stack) {
  const ordered = [];
  for (let c = 0; c + 1 < columns.length; c++) {
    const to = new Set(columns[c + 1].shown);
    for (const f of columns[c].shown) {
      for (const g of calleesOf(f)) {
        if (!to.has(g)) continue;
        const key = `${f}>${g}`;
        const style = registers.has(key) ? "registers" : stack.has(key) ? "stack" : "";
        ordered.push([style, at.get(`${c}:${f}`), at.get(`${c + 1}:${g}`)]);
      }
    }
  }
  // Those of a chain lie above the others.
  ordered.sort((a, b) => (a[0] ? 1 : 0) - (b[0] ? 1 : 0));
  for (const [style, [x, y], [u, v]] of ordered) {
    const a = x + NODE.width, b = y + NODE.height / 2, d = v + NODE.height / 2, m = (a + u) / 2;
    picture.append(svg("path", { class: style, d: `M${a} ${b}C${m} ${b} ${m} ${d} ${u} ${d}` }));
  }
}

function describe(f, kernel) {
  const object = objectPath(F.object[f]);
  const rows = [
    ["Registers", kernel ? kernel.registers : F.registers[f]],
    ["Stack", kernel ? (kernel.recursive ? "unknown" : bytes(kernel.stack)) : bytes(F.frame[f])],
    ["Barriers", kernel ? kernel.barriers : F.barriers[f]],
    ["Code", bytes(F.size[f])],
    ["Calls", num(calleesOf(f).length)],
    ["Callers", num(callersOf(f).length)],
  ];
  return [
    el("h2", {}, name(nameOf(f))),
    el("p", { class: "dim" }, nameOf(f) === symbolOf(f) ? "" : el("span", { class: "mono name" }, symbolOf(f)), object ? ` from ${object}` : " not defined by an input"),
    el("dl", { class: "figures" }, ...rows.map(([key, value]) => el("div", {}, el("dt", {}, key), el("dd", {}, String(value))))),
  ];
}
// Why it is in the output or not, and what sets the maxima of a kernel.
function reasons(f, kernel, registers, stack) {
  const out = [];
  if (isRemoved(f)) out.push(el("p", {}, `Not in the output: ${whyRemoved(f) || "nothing in the output uses it"}.`));
  if (kernel) out.push(...chains(kernel, registers, stack));
  else if (!isRemoved(f)) {
    const chain = chainFromKernel(f);
    out.push(chain.length ? el("h3", {}, "Kept because a kernel reaches it") : el("p", {}, isTaken(f) ? "Kept because its address is taken." : "No kernel reaches it; this link removes nothing."));
    if (chain.length) out.push(chainList(chain, "why", () => ""));
  }
  return out;
}

// The call chains that set the maxima of a kernel.
function chains(kernel, registers, stack) {
  const out = [];
  registers = registers || (kernel.registersFrom >= 0 ? chainTo(kernel.f, kernel.registersFrom) : []);
  if (registers.length) out.push(el("h3", {}, `${kernel.registers} registers because of`), chainList(registers, "registers", (f) => `${F.registers[f]} registers`));
  const barriers = kernel.barriersFrom >= 0 ? chainTo(kernel.f, kernel.barriersFrom) : [];
  if (barriers.length) out.push(el("h3", {}, `${kernel.barriers} barriers because of`), chainList(barriers, "barriers", (f) => plural(F.barriers[f], "barrier", "barriers")));
  stack = (stack || [kernel.f, ...kernel.chain]).filter((f) => f !== undefined);
  if (kernel.recursive) out.push(el("h3", {}, "Stack"), el("p", {}, "Not known: a function that it reaches may call itself."));
  else if (kernel.stack > 0 && stack.length > 1) out.push(el("h3", {}, `${bytes(kernel.stack)} of stack, added up over`), chainList(stack, "stack", (f) => (F.frame[f] ? bytes(F.frame[f]) : "no stack")));
  return out;
}
