"use strict";
// Draws the table of one record after another. All it needs is in #data; it sends and fetches nothing.
const data = JSON.parse(document.getElementById("data").textContent);
const say = data.texts;
const frames = data.frames;
const byId = (id) => document.getElementById(id);
const SVG = "http://www.w3.org/2000/svg";
const RANKS = ["2", "3", "4", "5", "6", "7", "8", "9", "10", "J", "Q", "K", "A"];
const SUITS = ["♣", "♦", "♥", "♠"];
let at = -1;
let open = true;

const rank = (card) => RANKS[(card - 1) % 13];
const suit = (card) => Math.floor((card - 1) / 13);
const name = (card) => rank(card) + SUITS[suit(card)];
const names = (cards) => cards.map(name).join(" ");

function make(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

function draw(tag, attributes, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

// A card as a picture; 0 is one that lies face down. What it is, is said by the group that it is in.
function picture(card) {
  const svg = draw("svg", { class: "card", viewBox: "0 0 50 70", "aria-hidden": "true" });
  if (!card) {
    svg.append(draw("rect", { class: "back", x: 2, y: 2, width: 46, height: 66, rx: 6, "stroke-width": 3 }));
    return svg;
  }
  const colour = suit(card) === 1 || suit(card) === 2 ? "red" : "black";
  const text = draw("text", { x: 5, y: 21, class: colour }, rank(card));
  svg.append(
    draw("rect", { class: "face", x: 1, y: 1, width: 48, height: 68, rx: 6 }),
    text,
    draw("use", { href: "#suit" + suit(card), x: 15, y: 30, width: 30, height: 33, class: colour }),
  );
  return svg;
}

function group(label, cards) {
  const box = make("div", { class: "cards", role: "img", "aria-label": label });
  box.append(...cards.map(picture));
  return box;
}

function seat(number, hand, table) {
  const badges = [];
  const place = table.places.find(([who]) => who === number);
  if (number === table.attacker) badges.push(say.attacks);
  if (number === table.defender) badges.push(table.taking ? say.takes : say.defends);
  if (table.passed.includes(number)) badges.push(say.passed);
  if (place) badges.push(say.out.replace("{place}", place[1]));
  const clock = table.clock.includes(number);
  if (clock) badges.push(say.clock);
  const title = make("h3", {}, data.names[number]);
  for (const badge of badges) title.append(" ", make("span", { class: "badge" }, badge));
  const label = hand.length === 0 ? say.none : open ? names(hand) : say.closed.replace("{count}", hand.length);
  return make(
    "section",
    { class: clock ? "seat clock" : "seat", "aria-label": data.names[number] },
    title,
    group(label, open ? hand : hand.map(() => 0)),
  );
}

function pile(title, label, cards) {
  return make("div", { class: "pile" }, `${title}: `, group(label, cards));
}

function middle(table) {
  const box = make("section", { class: "middle", "aria-label": say.table });
  for (const [attack, defence] of table.table) {
    const label = defence ? say.beaten.replace("{attack}", name(attack)).replace("{defence}", name(defence)) : name(attack);
    const pair = make("div", { class: "pair", role: "img", "aria-label": label });
    pair.append(...(defence ? [picture(attack), picture(defence)] : [picture(attack)]));
    box.append(pair);
  }
  if (!table.table.length) box.append(make("p", { class: "hidden" }, say.empty));
  const stock = table.stock;
  if (stock.length) {
    // Closed, only the card under the stock is seen: it shows the trumps.
    const seen = open ? stock : [0, stock[stock.length - 1]];
    const label = open ? names(stock) : name(stock[stock.length - 1]);
    box.append(pile(`${say.stock} (${stock.length})`, label, seen));
  }
  box.append(make("div", { class: "pile" }, `${say.discard}: ${table.discard}`));
  return box;
}

function show() {
  const frame = frames[at];
  const board = byId("board");
  board.replaceChildren();
  // Where the records make no match any more, the last table that they made stays, and the page says so.
  const { table } = frames.slice(0, at + 1).findLast((one) => one.table) || {};
  if (!frame.table) board.append(make("p", { class: "broken" }, say.broken));
  if (table) {
    board.append(...table.hands.map((hand, number) => seat(number, hand, table)));
    board.append(table.hands.length ? middle(table) : make("p", {}, say.undealt));
  }
  const text = frame.lines.concat(frame.findings).join(" ");
  byId("now").textContent = `${frame.version}. ${text}`;
  const slider = byId("slider");
  slider.value = at;
  slider.setAttribute("aria-valuetext", `${frame.version}. ${text}`);
  for (const id of ["first", "back"]) byId(id).disabled = at === 0;
  for (const id of ["next", "last"]) byId(id).disabled = at === frames.length - 1;
}

function go(index) {
  const wanted = Math.max(0, Math.min(frames.length - 1, index));
  if (wanted === at) return;
  const before = document.querySelector("[aria-current]");
  if (before) before.removeAttribute("aria-current");
  at = wanted;
  const current = document.querySelector(`button[data-at="${at}"]`);
  current.setAttribute("aria-current", "step");
  const box = byId("log-box");
  // Only the log scrolls, and only where it is a box of its own: the page stays where it is.
  if (box.scrollHeight > box.clientHeight) box.scrollTop = current.offsetTop - box.offsetTop - box.clientHeight / 3;
  show();
  history.replaceState(null, "", `#at=${frames[at].version}`);
}

function find(step, matches) {
  for (let index = at + step; index >= 0 && index < frames.length; index += step) {
    if (matches(frames[index])) return go(index);
  }
}

function flip() {
  open = !open;
  byId("hands").setAttribute("aria-checked", open);
  show();
}

const isBout = (frame) => frame.bout;
const isFinding = (frame) => frame.findings.length > 0;
const KEYS = {
  ArrowRight: () => go(at + 1), ArrowLeft: () => go(at - 1), Home: () => go(0), End: () => go(frames.length - 1),
  PageDown: () => find(1, isBout), PageUp: () => find(-1, isBout), f: () => find(1, isFinding), F: () => find(-1, isFinding),
  h: flip,
};
document.addEventListener("keydown", (event) => {
  const action = KEYS[event.key];
  if (!action || event.ctrlKey || event.altKey || event.metaKey) return;
  event.preventDefault();
  action();
});
byId("slider").addEventListener("input", (event) => go(Number(event.target.value)));
byId("first").addEventListener("click", () => go(0));
byId("back").addEventListener("click", () => go(at - 1));
byId("next").addEventListener("click", () => go(at + 1));
byId("last").addEventListener("click", () => go(frames.length - 1));
byId("finding").addEventListener("click", () => find(1, isFinding));
byId("hands").addEventListener("click", flip);
document.addEventListener("click", (event) => {
  const button = event.target.closest("button[data-at]");
  if (button) go(Number(button.dataset.at));
});
const asked = () => frames.findIndex((frame) => `#at=${frame.version}` === location.hash);
window.addEventListener("hashchange", () => { if (asked() >= 0) go(asked()); });
byId("viewer").hidden = false;
byId("finding").disabled = !frames.some(isFinding);
go(Math.max(0, asked()));
