"use strict";
// What the link reported. Strings are numbers in `D.strings`; -1 is no index. See data.rs.
const D = JSON.parse(document.getElementById("data").textContent);
const TIMES = JSON.parse(document.getElementById("times").textContent);
const text = (i) => (i < 0 ? "" : D.strings[i]);

// Functions.
const F = D.functions;
const FUNCTIONS = F.name.length;
const symbolOf = (f) => text(F.name[f]);
const nameOf = (f) => text(F.source[f] < 0 ? F.name[f] : F.source[f]);
const isKernel = (f) => (F.flags[f] & 1) !== 0;
const isRemoved = (f) => (F.flags[f] & 2) !== 0;
const isTaken = (f) => (F.flags[f] & 4) !== 0;
const isDefined = (f) => (F.flags[f] & 8) !== 0;
const calleesOf = (f) => F.lists[F.calls[f]];
// Inputs by their paths, and without the folder that all of them are below.
const objectPath = (o) => (o < 0 ? "" : text(D.objects[o]));
const FOLDER = commonFolder(D.objects.map(text));
const objectName = (o) => objectPath(o).slice(FOLDER.length);
function commonFolder(paths) {
  if (!paths.length) return "";
  let folder = paths[0].slice(0, paths[0].lastIndexOf("/") + 1);
  for (const path of paths) {
    while (!path.startsWith(folder)) folder = folder.slice(0, folder.slice(0, -1).lastIndexOf("/") + 1);
  }
  return folder;
}
const WHY = [
  "",
  "no host code in the inputs names this kernel; --ignore-host-info keeps it",
  "--kernels-used does not name this kernel",
  "no kernel reaches it: nothing calls it or takes its address",
  "no kernel reaches it: its callers were removed too",
];
const whyRemoved = (f) => WHY[F.flags[f] >> 4] || "";

// Callers, made when they are first asked for.
let callers = null;
function callersOf(f) {
  if (!callers) {
    callers = Array.from({ length: FUNCTIONS }, () => []);
    for (let g = 0; g < FUNCTIONS; g++) for (const c of calleesOf(g)) callers[c].push(g);
  }
  return callers[f];
}

// Kernels as objects: there are few of them next to functions.
const KERNELS = D.kernels.map((k) => ({
  f: k[0], registers: k[1], registersFrom: k[2], barriers: k[3], barriersFrom: k[4], stack: k[5], ownStack: k[6],
  recursive: k[7] === 1, chain: k[8], shared: k[9], bank0: k[10], bank2: k[11], local: k[12],
  textures: k[13], surfaces: k[14], samplers: k[15],
}));
const kernelOf = new Map(KERNELS.map((k) => [k.f, k]));

// What kernels reach: the number of functions and the bytes of their code. Kernels with the same
// callees reach the same besides themselves.
const reachByList = new Map();
function reachOf(k) {
  if (k.reach) return k.reach;
  const list = F.calls[k.f];
  if (!reachByList.has(list)) {
    const seen = new Set(calleesOf(k.f));
    for (const g of seen) for (const c of calleesOf(g)) seen.add(c);
    let bytes = 0;
    for (const g of seen) bytes += F.size[g];
    reachByList.set(list, { seen, bytes });
  }
  const { seen, bytes } = reachByList.get(list);
  const own = seen.has(k.f);
  k.reach = { count: seen.size - (own ? 1 : 0), bytes: bytes + (own ? 0 : F.size[k.f]) };
  return k.reach;
}

// The shortest call chain between two functions, both included; nothing if there is none.
function chainTo(from, to) {
  const before = new Map([[from, -1]]);
  for (const f of before.keys()) {
    if (f === to) {
      const chain = [];
      for (let at = to; at >= 0; at = before.get(at)) chain.unshift(at);
      return chain;
    }
    for (const c of calleesOf(f)) if (!before.has(c)) before.set(c, f);
  }
  return [];
}

// The only kernel that reaches each function; SEVERAL for more than one, -1 for none.
const SEVERAL = -2;
function onlyKernels() {
  const of = new Int32Array(FUNCTIONS).fill(-1);
  const work = [];
  const give = (f, kernel) => {
    const now = of[f];
    if (now === kernel || now === SEVERAL) return;
    of[f] = now === -1 ? kernel : SEVERAL;
    work.push(f);
  };
  for (const k of KERNELS) give(k.f, k.f);
  while (work.length) {
    const f = work.pop();
    for (const c of calleesOf(f)) give(c, of[f]);
  }
  // Kernels are their own, whoever launches them.
  for (const k of KERNELS) of[k.f] = k.f;
  return of;
}

// Sections: their names, and which kind they are of.
const S = D.sections;
const kindOf = (s) => text(S.name[s]).replace(/\.$/, "");
const sectionName = (s) => text(S.name[s]) + (S.suffix[s] ? symbolOf(S.function[s]) : "");
// Colours: what a section is good for.
const GROUPS = ["code", "debug information", "attributes", "constants and data", "relocations", "symbols and names", "capsules", "other"];
const groupCache = new Map();
function groupOf(s) {
  const key = S.name[s];
  if (!groupCache.has(key)) groupCache.set(key, groupOfName(text(key)));
  return groupCache.get(key);
}
function groupOfName(name) {
  if (name.startsWith(".nv.capmerc") || name.startsWith(".nv.merc")) return 6;
  if (name.startsWith(".text")) return 0;
  if (name.startsWith(".debug") || name.startsWith(".nv_debug")) return 1;
  if (name.startsWith(".nv.info") || name.startsWith(".nv.compat") || name.startsWith(".note")) return 2;
  if (name.startsWith(".nv.constant") || name.startsWith(".nv.global")) return 3;
  if (name.startsWith(".rel")) return 4;
  if (name === ".strtab" || name === ".shstrtab" || name.startsWith(".symtab")) return 5;
  return 7;
}

// The bytes of the file as leaves: { size, section, object, f }. Section -1 is headers and gaps.
let leafList = null;
function leaves() {
  if (leafList) return leafList;
  leafList = [];
  const order = [];
  for (let s = 0; s < S.name.length; s++) if (S.inFile[s] && S.size[s] > 0) order.push(s);
  order.sort((a, b) => S.offset[a] - S.offset[b] || a - b);
  const firstPart = new Array(S.parts.length);
  for (let s = 0, at = 0; s < S.parts.length; at += S.parts[s++]) firstPart[s] = at;
  let end = 0, used = 0;
  for (const s of order) {
    // Files with two halves may store the bytes of two sections once.
    const start = Math.max(S.offset[s], end);
    const bytes = Math.max(0, S.offset[s] + S.size[s] - start);
    end = Math.max(end, S.offset[s] + S.size[s]);
    used += bytes;
    if (bytes > 0) addLeaves(s, bytes, firstPart[s]);
  }
  if (D.size > used) leafList.push({ size: D.size - used, section: -1, object: -1, f: -1 });
  return leafList;
}
function addLeaves(s, bytes, first) {
  const P = S.part, parts = [];
  let sum = 0;
  for (let p = first; p < first + S.parts[s]; p++) {
    if (P.size[p] > 0) parts.push(p);
    sum += P.size[p];
  }
  // Records and relocations are made from the inputs: their bytes go by what each input had.
  const scale = parts.length && (sum > bytes || !P.copied[parts[0]]) ? bytes / sum : 1;
  let rest = bytes;
  for (const p of parts) {
    const size = Math.min(rest, Math.round(P.size[p] * scale));
    if (size > 0) leafList.push({ size, section: s, object: P.object[p], f: S.function[s] });
    rest -= size;
  }
  if (rest > 0) leafList.push({ size: rest, section: s, object: -1, f: S.function[s] });
}

// Memory.
const OCCUPANTS = ["variable", "variable of several kernels", "dynamic array", "system", "parameter", "handle", "compiler's constants"];
const MEMORY = D.memory.map(([section, space, kernel, size, flat]) => {
  const parts = [];
  for (let i = 0; i < flat.length; i += 5) {
    parts.push({ name: text(flat[i]), what: flat[i + 1], object: flat[i + 2], offset: flat[i + 3], size: flat[i + 4] });
  }
  return { section: text(section), space, kernel, size, parts };
});
const spaceName = (space) => (space === -1 ? "shared" : space === -2 ? "global" : `constant bank ${space}`);

// Copies of one name. The tables of a dropped copy may still be in the bank of its users.
const tables = new Map();
for (const map of MEMORY) {
  for (const part of map.parts) {
    if (part.what !== 6) continue;
    const key = `${part.object} ${part.name}`;
    tables.set(key, (tables.get(key) || 0) + part.size);
  }
}
const COPIES = D.copies.map(([name, f, kept, registers, flat]) => {
  const dropped = [];
  let bytes = 0, left = 0;
  for (let i = 0; i < flat.length; i += 4) {
    left += tables.get(`${flat[i]} ${text(name)}`) || 0;
    dropped.push({ object: flat[i], bytes: flat[i + 1], registers: flat[i + 2], replaced: flat[i + 3] === 1 });
    bytes += flat[i + 1];
  }
  return { name: text(name), f, kept, registers, dropped, bytes, left };
});
const SAME = D.same.map(([size, functions]) => ({ size, functions, extra: size * (functions.length - 1) }));
const INPUTS = D.inputs.map(([name, images, fate, reason]) => ({ name: text(name), images, fate, reason: text(reason) }));
