// What fills the image. One tree for each way to group; a node is { label, title, size, group, children, f }.
const TREES = {
  input: ["Input", [byObject, byKind, byFunctionOrSection]],
  kernel: ["Kernel", [byKernel, byFunctionOrSection, byKind]],
  function: ["Function", [byFunction, byKind, bySection]],
  section: ["Section", [byKind, bySection, byObject]],
};
const LINKER = "made by the linker";
const HEADERS = "headers and gaps";
function byObject(leaf) {
  if (leaf.section < 0) return [HEADERS, HEADERS];
  return leaf.object < 0 ? [LINKER, LINKER] : [leaf.object, objectName(leaf.object)];
}
function byKind(leaf) {
  return leaf.section < 0 ? [HEADERS, HEADERS] : [S.name[leaf.section], kindOf(leaf.section)];
}
function bySection(leaf) {
  return leaf.section < 0 ? [HEADERS, HEADERS] : [leaf.section, sectionName(leaf.section)];
}
function byFunction(leaf) {
  return leaf.f < 0 ? ["none", "not of one function"] : [leaf.f, nameOf(leaf.f)];
}
function byFunctionOrSection(leaf) {
  return leaf.f < 0 ? ["s" + (leaf.section < 0 ? "" : S.name[leaf.section]), byKind(leaf)[1]] : [leaf.f, nameOf(leaf.f)];
}
let only = null;
function byKernel(leaf) {
  if (leaf.f < 0) return ["none", "not of one function"];
  only = only || onlyKernels();
  const kernel = only[leaf.f];
  if (kernel === SEVERAL) return ["several", "used by several kernels"];
  return kernel < 0 ? ["unreached", "reached by no kernel"] : [kernel, nameOf(kernel)];
}

const trees = new Map();
function tree(which) {
  if (trees.has(which)) return trees.get(which);
  const levels = TREES[which][1];
  const root = { label: text(D.output) || "output", size: 0, groups: null, map: new Map(), depth: 0 };
  for (const leaf of leaves()) {
    let node = root;
    const group = leaf.section < 0 ? 7 : groupOf(leaf.section);
    count(node, leaf.size, group);
    levels.forEach((level, depth) => {
      const [key, label] = level(leaf);
      let child = node.map.get(key);
      if (!child) {
        child = { label, size: 0, groups: null, map: new Map(), parent: node, depth: depth + 1, f: leaf.f >= 0 && key === leaf.f ? leaf.f : -1 };
        node.map.set(key, child);
      }
      count(child, leaf.size, group);
      node = child;
    });
  }
  finish(root);
  trees.set(which, root);
  return root;
}
function count(node, size, group) {
  node.size += size;
  node.groups = node.groups || new Float64Array(GROUPS.length);
  node.groups[group] += size;
}
function finish(node) {
  node.group = node.groups.indexOf(Math.max(...node.groups));
  node.children = [...node.map.values()].sort((a, b) => b.size - a.size);
  node.map = node.groups = null;
  // Levels that say the same again.
  while (node.children.length === 1 && node.depth > 0 && node.children[0].label === node.label && node.children[0].map) {
    node.children = [...node.children[0].map.values()].sort((a, b) => b.size - a.size);
    for (const child of node.children) child.parent = node;
  }
  node.children.forEach(finish);
  if (node.children.length === 1 && node.children[0].label === node.label) node.children = [];
}

// Squarified: rows along the shorter side whose tiles are as square as can be. What is left too small to see is one tile.
function squarify(nodes, x, y, w, h, place) {
  let total = 0;
  for (const node of nodes) total += node.size;
  let i = 0;
  while (i < nodes.length && w > 0.5 && h > 0.5 && total > 0) {
    const short = Math.min(w, h), area = (w * h) / total;
    if (nodes[i].size * area < 2) {
      place({ label: `${num(nodes.length - i)} smaller`, size: total, group: 7, children: [], rest: true, parent: nodes[i].parent }, x, y, w, h);
      return;
    }
    let sum = 0, best = Infinity, end = i;
    while (end < nodes.length) {
      const next = sum + nodes[end].size;
      const side = (next * area) / short;
      const worst = Math.max(side / ((nodes[i].size * area) / side), ((nodes[end].size * area) / side) / side, (nodes[i].size * area) / side / side, side / ((nodes[end].size * area) / side));
      if (worst > best) break;
      best = worst;
      sum = next;
      end++;
    }
    const side = (sum * area) / short;
    let at = 0;
    for (; i < end; i++) {
      const length = (nodes[i].size * area) / side;
      if (w >= h) place(nodes[i], x, y + at, side, length);
      else place(nodes[i], x + at, y, length, side);
      at += length;
    }
    if (w >= h) { x += side; w -= side; } else { y += side; h -= side; }
    total -= sum;
  }
}

function treemap() {
  let which = "input", node = tree(which), boxes = [];
  const crumbs = el("div", { class: "crumbs", "aria-live": "polite" });
  const list = el("div");
  const picture = canvas({ class: "treemap", role: "img", "aria-label": "Treemap of the image; the table beside it has the same sizes" }, draw);
  const modes = choice("Group by", Object.entries(TREES).map(([key, [label]]) => [key, label]), which, (key) => {
    which = key;
    go(tree(which));
  });

  function draw(c, width, height) {
    boxes = [];
    c.clearRect(0, 0, width, height);
    const colors = GROUPS.map((_, i) => color(`--k${i}`)), line = color("--back"), dark = color("--text"), ink = "#fff";
    const font = '12px system-ui, "Liberation Sans", sans-serif';
    c.textBaseline = "middle";
    // Gaps between tiles, a strip with the name on those that have tiles inside.
    const paint = (n, x, y, w, h, depth) => {
      boxes.push({ n, x, y, w, h });
      const inside = n.children.length > 0 && w > 40 && h > 38 && depth < 3;
      c.fillStyle = colors[n.group];
      c.globalAlpha = inside ? 0.32 : 1;
      c.fillRect(x, y, w, h);
      c.globalAlpha = 1;
      if (w > 6 && h > 6) {
        c.strokeStyle = line;
        c.lineWidth = depth === 1 ? 2 : 1;
        c.strokeRect(x, y, w, h);
      }
      if (inside) {
        label(n, x + 4, y + 9, w - 8, dark, depth === 1 ? "600 " + font : font);
        squarify(n.children, x + 2, y + 18, w - 4, h - 20, (m, a, b, d, e) => paint(m, a, b, d, e, depth + 1));
      } else if (w > 34 && h > 15) {
        label(n, x + 4, y + Math.min(h / 2, 10), w - 8, ink, font);
        if (h > 32) label({ label: bytes(n.size) }, x + 4, y + 25, w - 8, ink, font, 0.8);
      }
    };
    const label = (n, x, y, w, fill, face, alpha) => {
      c.font = face;
      c.fillStyle = fill;
      c.globalAlpha = alpha || 1;
      const value = fit(c, n.label, w);
      if (value) c.fillText(value, x, y);
      c.globalAlpha = 1;
    };
    squarify(node.children.length ? node.children : [node], 0, 0, width, height, (n, x, y, w, h) => paint(n, x, y, w, h, 1));
  }
  function at(event) {
    const box = picture.getBoundingClientRect();
    const x = event.clientX - box.left, y = event.clientY - box.top;
    let found = null;
    for (const b of boxes) if (x >= b.x && x < b.x + b.w && y >= b.y && y < b.y + b.h) found = b.n;
    return found;
  }
  function path(n) {
    const labels = [];
    for (let m = n; m && m !== node; m = m.parent) labels.unshift(m.label);
    return labels;
  }
  picture.addEventListener("mousemove", (event) => {
    const hovered = at(event);
    showTip(event, hovered && `${path(hovered).join("\n")}\n${bytes(hovered.size)} (${num(hovered.size)} bytes), ${percent(hovered.size, D.size)}`);
  });
  picture.addEventListener("mouseleave", (event) => showTip(event, null));
  picture.addEventListener("click", (event) => {
    // Into the tile of the first level that was met, or up again.
    let n = at(event);
    while (n && n.parent !== node) n = n.parent;
    if (n && n.children.length) go(n);
    else if (n && n.f >= 0) location.hash = `#graph/${n.f}`;
  });
  function go(to) {
    node = to;
    showTip(null, null);
    const trail = [];
    for (let n = node; n; n = n.parent) trail.unshift(n);
    crumbs.replaceChildren(...trail.flatMap((n, i) => [
      i ? " › " : "",
      n === node ? el("strong", { class: "name" }, n.label) : el("button", { type: "button", onclick: () => go(n) }, name(n.label)),
    ]), ` ${bytes(node.size)}, ${percent(node.size, D.size)}`);
    list.replaceChildren(listOf(node));
    picture.paint();
  }
  function listOf(n) {
    return table([
      { key: "label", label: n.depth ? "Part" : TREES[which][0], class: "label", value: (m) => m.label, cell: (m) =>
        m.children.length ? el("button", { type: "button", class: "into", onclick: () => go(m) }, name(m.label)) : m.f >= 0 ? functionLink(m.f) : name(m.label) },
      { key: "size", label: "Bytes", numeric: true, value: (m) => m.size },
      { key: "share", label: "Share", numeric: true, value: (m) => m.size, cell: (m) => percent(m.size, D.size) },
    ], n.children, { caption: "Parts", words: (m) => m.label, sort: { key: "size", down: true } });
  }
  const box = el("div", {},
    el("div", { class: "bar" }, el("span", { class: "dim" }, "Group by"), modes, legend(GROUPS.map((label, i) => [`--k${i}`, label]))),
    crumbs,
    el("div", { class: "split" }, picture, list));
  box.filter = (query) => list.firstChild && list.firstChild.filter(query);
  go(node);
  return box;
}
