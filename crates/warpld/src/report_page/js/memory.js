// Constant, shared and global memory as drawn maps.
const OCCUPANT_COLORS = ["--k0", "--k3", "--k4", "--k7", "--k1", "--k2", "--k6"];
const LIMITS = (map) => (map.space === -1 ? D.limits.shared : map.space >= 0 ? 65536 : 0);

// The parts of a map with what is between them.
function spans(map) {
  const out = [];
  let end = 0;
  for (const part of map.parts) {
    if (part.offset > end && part.what !== 2) out.push({ name: "free or without a name", what: -1, object: -1, offset: end, size: part.offset - end });
    out.push(part);
    end = Math.max(end, part.offset + part.size);
  }
  if (map.size > end) out.push({ name: "free or without a name", what: -1, object: -1, offset: end, size: map.size - end });
  return out;
}

// One picture; several rows where a single one would be too fine to see.
function memoryPicture(map) {
  const parts = spans(map).filter((p) => p.size > 0);
  const rows = Math.max(1, Math.min(12, Math.ceil(parts.length / 10)));
  const perRow = Math.ceil(map.size / rows) || 1;
  const tall = 30;
  let boxes = [];
  const picture = canvas({ class: "memory", role: "img", "aria-label": `Map of ${map.section}; the table below has the same parts`, style: { height: `${rows * tall + 18}px` } }, (c, width) => {
    boxes = [];
    const colors = OCCUPANT_COLORS.map(color), free = color("--panel"), line = color("--back");
    c.font = '11px system-ui, "Liberation Sans", sans-serif';
    c.textBaseline = "middle";
    for (const part of parts) {
      let from = part.offset;
      const to = Math.min(part.offset + part.size, map.size);
      while (from < to) {
        const row = Math.floor(from / perRow), end = Math.min(to, (row + 1) * perRow);
        const x = ((from - row * perRow) / perRow) * width, w = Math.max(((end - from) / perRow) * width, 0.6);
        c.fillStyle = part.what < 0 ? free : colors[part.what];
        c.fillRect(x, row * tall, w, tall - 2);
        c.strokeStyle = line;
        if (w > 3) c.strokeRect(x, row * tall, w, tall - 2);
        boxes.push({ part, x, y: row * tall, w, h: tall });
        if (part.what >= 0 && w > 30) {
          c.fillStyle = "#fff";
          const value = fit(c, part.name, w - 8);
          if (value) c.fillText(value, x + 4, row * tall + tall / 2 - 1);
        }
        from = end;
      }
    }
    c.fillStyle = color("--dim");
    c.fillText("0", 0, rows * tall + 9);
    const last = hex(map.size);
    c.fillText(last, width - c.measureText(last).width, rows * tall + 9);
  });
  picture.addEventListener("mousemove", (event) => {
    const box = picture.getBoundingClientRect();
    const x = event.clientX - box.left, y = event.clientY - box.top;
    const hit = boxes.filter((b) => x >= b.x && x < b.x + b.w && y >= b.y && y < b.y + b.h).pop();
    showTip(event, hit && `${hit.part.name}\n${hit.part.what < 0 ? "" : OCCUPANTS[hit.part.what] + ", "}${num(hit.part.size)} bytes at ${hex(hit.part.offset)}`);
  });
  picture.addEventListener("mouseleave", (event) => showTip(event, null));
  return picture;
}

function memoryParts(map) {
  return table([
    { key: "offset", label: "Offset", numeric: true, value: (p) => p.offset, cell: (p) => el("span", { class: "mono" }, hex(p.offset)) },
    { key: "size", label: "Bytes", numeric: true, value: (p) => p.size },
    { key: "name", label: "Name", class: "label", value: (p) => p.name, cell: (p) => name(p.name) },
    { key: "what", label: "What", value: (p) => (p.what < 0 ? "" : OCCUPANTS[p.what]) },
    { key: "object", label: "Input", class: "side", value: (p) => objectName(p.object), cell: (p) => inputName(p.object) },
  ], spans(map), { caption: "Parts", words: (p) => p.name, sort: { key: "offset", down: false } });
}

const memoryTitle = (map) => (map.kernel < 0 ? map.section : nameOf(map.kernel));
function memoryView(start) {
  const chosen = el("div");
  const list = table([
    { key: "name", label: "Memory of", class: "label", value: memoryTitle, cell: (m) => link(memoryTitle(m), `#memory/${MEMORY.indexOf(m)}`, m.section) },
    { key: "space", label: "Space", value: (m) => spaceName(m.space) },
    { key: "parts", label: "Parts", numeric: true, value: (m) => m.parts.length },
    { key: "size", label: "Bytes", numeric: true, value: (m) => m.size, cell: (m) => [num(m.size), LIMITS(m) ? meter(m.size, LIMITS(m)) : ""] },
  ], MEMORY, { caption: "Memories", words: (m) => `${memoryTitle(m)} ${m.section} ${spaceName(m.space)} ${m.parts.map((p) => p.name).join(" ")}`, sort: { key: "size", down: true } });
  let parts = null;
  const map = MEMORY[start] || MEMORY.find((m) => m.kernel < 0) || MEMORY[0];
  if (map) {
    const most = LIMITS(map);
    parts = memoryParts(map);
    chosen.append(
      el("h2", {}, name(memoryTitle(map))),
      el("p", { class: "dim" }, `${spaceName(map.space)}, ${bytes(map.size)}${most ? ` of ${bytes(most)}` : ""}; section `, el("span", { class: "mono name" }, map.section)),
      legend(OCCUPANTS.map((label, i) => [OCCUPANT_COLORS[i], label]).filter((_, i) => map.parts.some((p) => p.what === i))),
      memoryPicture(map), parts);
  }
  const box = el("div", {}, chosen, el("h2", {}, "All memories"), MEMORY.length ? list : el("p", {}, "The output has no variables, parameters or shared memory."));
  box.filter = (query) => {
    list.filter(query);
    // What is looked for may be another memory: then the parts of this one stay.
    if (parts && !parts.filter(query)) parts.filter("");
  };
  return box;
}
