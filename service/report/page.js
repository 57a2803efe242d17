// Draws the table of the selected record from the JSON in #data, and verifies the transcript in it with verify.mjs, which
// stands above in the same script. Sends and fetches nothing.
const data = JSON.parse(document.getElementById("data").textContent);
const texts = data.texts;
const frames = data.frames;
const byId = (id) => document.getElementById(id);
const SVG = "http://www.w3.org/2000/svg";
const SUITS = ["♣", "♦", "♥", "♠"];
const ROW = 18; // most cards of a hand in one row
let at = -1;
let open = true;

const rank = (card) => data.ranks[(card - 1) % 13];
const suit = (card) => Math.floor((card - 1) / 13);
const name = (card) => rank(card) + SUITS[suit(card)];
const colourOf = (card) => (suit(card) === 1 || suit(card) === 2 ? "red" : "black");
const names = (cards) => cards.map(name).join(" ");

function fill(element, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}
const make = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
const draw = (tag, attributes, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);

// Returns a card as a picture; 0 is a card face down. The label of its group names it for screen readers.
// `mark` is the CSS class of the card that the record plays: now, illegal or fault.
function picture(card, mark = "") {
  const svg = draw("svg", { class: `card ${mark}`, viewBox: "0 0 50 70", "aria-hidden": "true" });
  if (!card) {
    svg.append(
      draw("rect", { class: "face", x: 1, y: 1, width: 48, height: 68, rx: 6 }),
      draw("rect", { fill: "url(#weave)", x: 5, y: 5, width: 40, height: 60, rx: 3 }),
    );
    return svg;
  }
  const colour = colourOf(card);
  const index = { x: 4, y: 18, class: colour };
  if (rank(card) === "10") Object.assign(index, { textLength: 15, lengthAdjust: "spacingAndGlyphs" });
  const pip = "#suit" + suit(card);
  svg.append(
    draw("rect", { class: "face", x: 1, y: 1, width: 48, height: 68, rx: 6 }),
    draw("text", index, rank(card)),
    draw("use", { href: pip, x: 4, y: 22, width: 11, height: 12, class: colour }),
    draw("use", { href: pip, x: 19, y: 34, width: 26, height: 29, class: colour }),
  );
  return svg;
}

// Returns cards in one or more rows. Screen readers read the label instead.
function group(label, cards) {
  const box = make("div", { role: "img", "aria-label": label });
  const rows = Math.max(1, Math.ceil(cards.length / ROW));
  const size = Math.ceil(cards.length / rows);
  for (let row = 0; row < rows; row += 1) {
    const part = cards.slice(row * size, (row + 1) * size);
    box.append(make("div", { class: "cards" }, ...part.map((card) => make("span", {}, picture(card)))));
  }
  return box;
}

function seat(number, hand, table) {
  const badges = [];
  const place = table.places.find(([who]) => who === number);
  if (number === table.attacker) badges.push(texts.attacks);
  if (number === table.defender) badges.push(table.taking ? texts.takes : texts.defends);
  if (table.passed.includes(number)) badges.push(texts.passed);
  if (place) badges.push(texts.out.replace("{place}", place[1]));
  const title = make("h3", {}, data.names[number]);
  for (const badge of badges) title.append(make("span", { class: "badge" }, badge));
  const clock = table.clock.includes(number);
  if (clock) title.append(make("span", { class: "badge move" }, texts.clock));
  const label = hand.length === 0 ? texts.none : open ? names(hand) : texts.closed.replace("{count}", hand.length);
  const box = make(
    "section",
    { class: `seat ${clock ? "clock" : ""} ${place ? "out" : ""} ${hand.length > 9 ? "wide" : ""}`, "aria-label": data.names[number] },
    title,
    group(label, open ? hand : hand.map(() => 0)),
  );
  box.style.gridArea = area(number, table.hands.length);
  return box;
}

// Returns the grid area of a seat. Seats go clockwise: the first half above the table from left to right, the others below.
function area(number, seats) {
  const above = Math.ceil(seats / 2);
  const isAbove = number < above;
  const row = isAbove ? above : seats - above;
  const column = isAbove ? number : seats - 1 - number;
  const span = 6 / row;
  return `${isAbove ? 2 : 4} / ${column * span + 1} / auto / span ${span}`;
}

function pile(title, label, cards) {
  return make("div", { class: "pile" }, title, group(label, cards));
}

function middle(table, frame) {
  const played = make("div", { class: "played" });
  const mark = (card) => (card && card === frame.card ? frame.mark : "");
  for (const [attack, defence] of table.table) {
    const label = defence ? texts.beaten.replace("{attack}", name(attack)).replace("{defence}", name(defence)) : name(attack);
    const pair = make("div", { class: "pair", role: "img", "aria-label": label });
    pair.append(picture(attack, mark(attack)));
    if (defence) pair.append(picture(defence, mark(defence)));
    played.append(pair);
  }
  if (!table.table.length) played.append(make("p", { class: "nothing" }, texts.empty));
  const trump = make("span", { class: `trump ${colourOf(table.trump)}` }, SUITS[suit(table.trump)]);
  const piles = make("div", { class: "piles" }, make("div", { class: "pile" }, texts.trumps, trump));
  const stock = table.stock;
  if (stock.length) {
    // With closed hands, only the trump card under the stock is visible.
    const seen = open ? stock : [0, stock[stock.length - 1]];
    const label = open ? names(stock) : name(stock[stock.length - 1]);
    piles.append(pile(`${texts.stock} (${stock.length})`, label, seen));
  }
  piles.append(make("div", { class: "pile" }, `${texts.discard} (${table.discard})`));
  return make("section", { class: "middle", "aria-label": texts.table }, played, piles);
}

function show() {
  const frame = frames[at];
  const board = byId("board");
  board.replaceChildren();
  // If the records no longer make a match, the last valid table stays, with a warning.
  const { table } = frames.slice(0, at + 1).findLast((one) => one.table) || {};
  if (!frame.table) board.append(make("p", { class: "broken" }, texts.broken));
  if (table && table.hands.length) {
    board.append(...table.hands.map((hand, number) => seat(number, hand, table)), middle(table, frame));
  } else if (table) {
    board.append(make("p", { class: "undealt" }, texts.undealt));
  }
  const now = byId("now");
  now.replaceChildren(make("span", { class: "version" }, `${frame.version}. `), frame.lines.join(" "));
  for (const [kind, text] of frame.findings) now.append(" ", make("span", { class: `line ${kind}` }, text));
  const slider = byId("slider");
  slider.value = at;
  const findings = frame.findings.map(([, text]) => text);
  slider.setAttribute("aria-valuetext", `${frame.version}. ${frame.lines.concat(findings).join(" ")}`);
  for (const id of ["first", "back"]) byId(id).disabled = at === 0;
  for (const id of ["next", "last"]) byId(id).disabled = at === frames.length - 1;
}

// Returns a value of the address as written there: `at` is the version, `key` the public key.
const inAddress = (name) => new RegExp(`[#&]${name}=([^&]*)`).exec(location.hash)?.[1] ?? "";
let addressing = 0;

function go(index) {
  const wanted = Math.max(0, Math.min(frames.length - 1, index));
  if (wanted === at) return;
  const before = document.querySelector("[aria-current]");
  if (before) before.removeAttribute("aria-current");
  at = wanted;
  const current = document.querySelector(`button[data-at="${at}"]`);
  current.setAttribute("aria-current", "step");
  const box = byId("log-box");
  // Scroll the log if it is a box of its own (on wide screens), never the page.
  if (box.scrollHeight > box.clientHeight) box.scrollTop = current.offsetTop - box.clientHeight / 3;
  show();
  // Browsers allow few changes of the address (Safari 100 in 30 s, then an error), so write it once the reader pauses.
  clearTimeout(addressing);
  addressing = setTimeout(() => history.replaceState(null, "", `#at=${frames[at].version}${inAddress("key") ? `&key=${inAddress("key")}` : ""}`), 400);
}

function find(step, matches) {
  for (let index = at + step; index >= 0 && index < frames.length; index += step) {
    if (matches(frames[index])) return go(index);
  }
}

function toggleHands() {
  open = !open;
  byId("hands").setAttribute("aria-checked", open);
  show();
}

const isBout = (frame) => frame.bout;
const isFinding = (frame) => frame.findings.length > 0;
const KEYS = {
  ArrowRight: () => go(at + 1), ArrowLeft: () => go(at - 1), Home: () => go(0), End: () => go(frames.length - 1),
  PageDown: () => find(1, isBout), PageUp: () => find(-1, isBout), f: () => find(1, isFinding), F: () => find(-1, isFinding),
  h: toggleHands,
};
document.addEventListener("keydown", (event) => {
  const action = KEYS[event.key];
  if (!action || event.target.id === "key" || event.ctrlKey || event.altKey || event.metaKey) return;
  event.preventDefault();
  action();
});
byId("slider").addEventListener("input", (event) => go(Number(event.target.value)));
byId("first").addEventListener("click", () => go(0));
byId("back").addEventListener("click", () => go(at - 1));
byId("next").addEventListener("click", () => go(at + 1));
byId("last").addEventListener("click", () => go(frames.length - 1));
byId("finding").addEventListener("click", () => find(1, isFinding));
byId("hands").addEventListener("click", toggleHands);
document.addEventListener("click", (event) => {
  const button = event.target.closest("button[data-at]");
  if (button) go(Number(button.dataset.at));
});
const addressed = () => frames.findIndex((frame) => String(frame.version) === inAddress("at"));
window.addEventListener("hashchange", () => {
  if (addressed() >= 0) go(addressed());
  useAddressedKey();
});
byId("viewer").hidden = false;
byId("finding").disabled = !frames.some(isFinding);
// Opens at the record in the address, or the first fault, or the deal.
const isFault = (frame) => frame.findings.some(([kind]) => kind === "fault");
const isDealt = (frame) => frame.table && frame.table.hands.length > 0;
go([addressed(), frames.findIndex(isFault), frames.findIndex(isDealt), 0].find((index) => index >= 0));

// --- the proof -------------------------------------------------------------------------------------

// Returns whether the tables that this page shows are those of the records.
function isShown(tables) {
  const plain = ({ hands, table, stock, discard }) =>
    JSON.stringify([hands.map((hand) => [...hand].sort((a, b) => a - b)), table, stock, discard]);
  return tables.length === frames.length && tables.every((table, index) => frames[index].table && plain(frames[index].table) === plain(table));
}

async function prove(key) {
  let found;
  try {
    found = await verify(fromBase64(data.transcript), key);
  } catch {
    found = { checks: [{ claim: "format", value: "", holds: false }], missing: "" };
  }
  if (found.tables) found.checks.push({ claim: "shown", value: "", holds: isShown(found.tables) });
  return found;
}

const claimText = ({ claim, value }) => texts.checks[claim].replace("{value}", value);

function showProof({ checks, missing }) {
  const wrong = checks.find(({ holds }) => !holds);
  const badKey = wrong?.claim === "key"; // says nothing about the match
  const state = badKey ? "consistent" : wrong ? "refuted" : missing ? "consistent" : "proven";
  byId("proof").className = `verdict ${state}`;
  const text = wrong ? texts.proof.refuted.replace("{claim}", claimText(wrong)) : texts.proof[missing || "proven"];
  byId("proof-state").textContent = badKey ? texts.proof.bad_key : text;
  // What the maker of the page found is worth showing only where this browser cannot say better, or if it lists faults.
  const made = byId("verdict").parentElement;
  made.hidden = state !== "consistent" && !made.classList.contains("refuted");
  byId("checks").replaceChildren(...checks.map((one) => make("li", { class: one.holds ? "holds" : "fault" }, claimText(one))));
}

// Only the last key counts, also if an earlier check ends after it.
let asked = 0;
async function proveWith(key) {
  const mine = ++asked;
  const found = await prove(key.trim());
  if (mine === asked) showProof(found);
}

function useAddressedKey() {
  let key = inAddress("key");
  try {
    key = decodeURIComponent(key);
  } catch { /* not encoded: as it is */ }
  if (!key || key === byId("key").value) return;
  byId("key").value = key;
  proveWith(key);
}

byId("key").addEventListener("input", (event) => proveWith(event.target.value));
byId("save").addEventListener("click", () => {
  const address = URL.createObjectURL(new Blob([fromBase64(data.transcript)]));
  make("a", { href: address, download: `${data.match}.transcript` }).click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
});
byId("proof").hidden = false;
useAddressedKey();
if (!asked) proveWith("");

// Paper has no folds.
const folds = [...document.querySelectorAll("details")];
let closed = [];
window.addEventListener("beforeprint", () => {
  closed = folds.filter((fold) => !fold.open);
  closed.forEach((fold) => { fold.open = true; });
});
window.addEventListener("afterprint", () => closed.forEach((fold) => { fold.open = false; }));
