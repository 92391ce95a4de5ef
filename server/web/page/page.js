// The page: asks the server once a window for what it tells at api/hotkeys, and shows that.

import { draw, inWords } from "./charts.js";
import { showController } from "./controller.js";
import { clock, count, duration, full, identity, percent, short } from "./format.js";
import { holdOrder, moveFocus, setFilter, showKeys } from "./list.js";

const at = (id) => document.getElementById(id);

// A page may be opened with name and password in its address, which requests must not have.
const api = new URL("api/hotkeys", location.origin + location.pathname);

const askAgainMinMs = 500, askAgainMaxMs = 5000, answerWithinMs = 8000;

let paused = false;
let failures = 0;
let timer = 0;
let request = null; // the one under way
let latest = null; // the latest answer

/** Asks, shows the answer, and comes again in time. A paused page shows only what it was told to ask for. */
async function ask(told = false) {
  clearTimeout(timer);
  request?.abort();
  const mine = (request = new AbortController());
  const limit = setTimeout(() => mine.abort(), answerWithinMs);
  api.searchParams.set("type", document.querySelector("#ranking input:checked").value);
  api.searchParams.set("count", at("count").value);
  let next = askAgainMaxMs;
  try {
    const response = await fetch(api, { signal: mine.signal, cache: "no-store" });
    if (!response.ok) throw new Refused(response.status, await reasonOf(response));
    const answer = await response.json();
    if (mine !== request) return;
    failures = 0;
    next = Math.min(Math.max(answer.next_window_in_ms + 60, askAgainMinMs), askAgainMaxMs);
    if (!paused || told) show(answer);
  } catch (problem) {
    if (mine !== request) return;
    next = Math.min(500 * 2 ** failures++, askAgainMaxMs);
    fail(problem);
  } finally {
    clearTimeout(limit);
  }
  if (!paused && !document.hidden) timer = setTimeout(ask, next);
}

/** An answer that is none. */
class Refused extends Error {
  constructor(status, text) {
    super(text);
    this.status = status;
  }
}

async function reasonOf(response) {
  const text = await response.text();
  try {
    return JSON.parse(text).error ?? text;
  } catch {
    return text;
  }
}

function fail(problem) {
  if (!(problem instanceof Refused)) setStatus("lost", "Not reachable, trying again");
  else if (problem.status === 503) setStatus("lost", "Busy, trying again");
  else {
    setStatus("lost", "Refused");
    notice(problem.status === 401 ? "Log in again" : "Refused", problem.status === 401 ? "Reload the page to enter name and password." : problem.message);
  }
  document.body.classList.add("is-stale");
}

function setStatus(state, text) {
  at("status").dataset.state = state;
  if (at("status-text").textContent !== text) at("status-text").textContent = text;
  at("status-time").textContent = latest ? (state === "live" ? "" : "since ") + clock(latest.taken_ms) : "";
}

function notice(title, text, command = "") {
  at("notice").hidden = title === "";
  if (at("notice-title").textContent !== title) at("notice-title").textContent = title;
  at("notice-text").textContent = text;
  at("notice-command").textContent = command;
  at("notice-command").hidden = command === "";
}

function show(answer) {
  const restarted = latest && latest.server.started_ms !== answer.server.started_ms;
  tellNews(latest, answer, restarted);
  latest = answer;
  document.body.classList.remove("is-stale");
  setStatus(paused ? "paused" : "live", paused ? "Paused" : "Live");
  at("where").textContent = location.host + " · kvserver " + answer.server.version + " · up " + duration(answer.taken_ms - answer.server.started_ms);
  const on = answer.tracking.on, complete = on && answer.window !== null;
  if (answer.tracking.session) notice("A tracking session takes the place of windows", "HOTKEYS GET answers with its report; HOTKEYS STOP and HOTKEYS RESET end it.");
  else if (!on) notice("Tracking is off", "Nothing is counted, and nothing is spent on it. To find the hottest keys:", "CONFIG SET hotkeys-top-k 16");
  else if (!complete && answer.tracking.windows_discarded > 0 && answer.history.length > 0) notice("The last window was discarded", "It lasted too long to say what happened lately, as after a stall. The next one is being counted.");
  else if (!complete) notice("The first window is being counted", `It is complete after ${duration(answer.tracking.window_ms)}.`);
  else notice("", "");
  at("summary").hidden = !complete;
  at("keys").hidden = !complete;
  if (complete) {
    showSummary(answer);
    showKeys(answer);
  }
  showController(answer.controller, answer.taken_ms);
  document.title = complete && answer.keys.length > 0 ? short(answer.keys[0].qps) + "/s " + answer.keys[0].key.slice(0, 40) + " · Hot keys" : "Hot keys";
}

function showSummary({ window, tracking, keys, history }) {
  at("rate").textContent = short(window.qps);
  const known = history.map((h) => h.known);
  const values = history.map((h) => (h.known ? h.qps : null));
  draw(at("rate-chart"), values, known, { width: 400, height: 56, places: 60 });
  at("rate-chart").setAttribute("aria-label", "Accesses per second " + inWords(values, short));
  at("rate-from").textContent = history.length > 1 ? duration(Math.max(60 * tracking.window_ms, history.at(-1).begin_ms - history[0].begin_ms)) + " ago" : "";
  at("rate-note").textContent = known.includes(false) ? "grey: not known" : "";
  const top = keys[0];
  at("top-share").textContent = top ? percent(top.share) : "–";
  at("top-name").textContent = top ? top.key : "";
  at("top-note").textContent = top ? "of all accesses" : "no key was accessed";
  at("floor").textContent = short(window.detection_floor_qps);
  at("samples").textContent = full(window.samples);
  at("samples-note").textContent = tracking.sampling_percentage === 100 ? "every access"
    : tracking.sampling_percentage + " % of accesses" + (tracking.sample_and_hold ? ", all of keys once seen" : ", at random");
  at("window").textContent = duration(window.duration_ms);
  at("window-note").textContent = count(tracking.windows_completed, "window", "windows") + " so far" +
    (tracking.windows_discarded ? ", " + full(tracking.windows_discarded) + " not known" : "");
}

const announcedEveryMs = 10000;
let announcedMs = 0;

/** Says aloud, to those who hear the page, what has changed for good: not every figure. */
function tellNews(before, now, restarted) {
  const news = [];
  if (restarted) news.push("The server was restarted.");
  const states = new Map((before?.controller.states ?? []).map((s) => [identity(s), s.state]));
  for (const s of now.controller.states) {
    if (before && states.get(identity(s)) !== s.state) news.push(s.key.slice(0, 60) + " is " + s.state + ".");
  }
  const top = now.keys[0], was = before?.keys[0];
  if (top && top.certain && (!was || identity(was) !== identity(top)) && now.taken_ms - announcedMs > announcedEveryMs) {
    announcedMs = now.taken_ms;
    news.push("Hottest is " + top.key.slice(0, 60) + " with " + full(top.qps) + " accesses a second.");
  }
  if (news.length > 0) at("news").textContent = news.slice(0, 4).join(" ");
}

function setPaused(on) {
  paused = on;
  at("pause").setAttribute("aria-pressed", String(on));
  at("pause").textContent = on ? "Resume" : "Pause";
  if (on) {
    clearTimeout(timer);
    setStatus("paused", "Paused");
  } else ask();
}

const themes = ["system", "light", "dark"];

function setTheme(theme) {
  if (theme === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  at("theme").textContent = "Theme: " + theme;
  try {
    localStorage.setItem("theme", theme);
  } catch {
    // Without storage the choice lasts as long as the page.
  }
}

function storedTheme() {
  try {
    const theme = localStorage.getItem("theme");
    return themes.includes(theme) ? theme : "system";
  } catch {
    return "system";
  }
}

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const typing = event.target instanceof HTMLInputElement && event.target.type === "search" || event.target instanceof HTMLSelectElement;
  if (event.key === "Escape" && event.target === at("filter")) {
    at("filter").value = "";
    setFilter("");
    at("filter").blur();
  } else if (event.key === "ArrowDown" && event.target === at("filter")) {
    if (moveFocus(1)) event.preventDefault();
  } else if (typing || event.target instanceof HTMLInputElement) {
    return;
  } else if (event.key === "/") {
    at("filter").focus();
    event.preventDefault();
  } else if (event.key === "p") setPaused(!paused);
  else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
    if (event.target.closest("#keys, body") && moveFocus(event.key === "ArrowDown" ? 1 : -1)) event.preventDefault();
  }
}

setTheme(storedTheme());
at("pause").addEventListener("click", () => setPaused(!paused));
at("theme").addEventListener("click", () => setTheme(themes[(themes.indexOf(storedTheme()) + 1) % themes.length]));
at("ranking").addEventListener("change", () => ask(true));
at("count").addEventListener("change", () => ask(true));
at("filter").addEventListener("input", () => setFilter(at("filter").value.trim()));
document.addEventListener("keydown", onKey);
document.addEventListener("visibilitychange", () => {
  if (document.hidden) clearTimeout(timer);
  else if (!paused) ask();
});

// The order is held while a pointer is over the list or the focus is in it: nobody can click what moves away.
let pointed = false, focused = false;
at("rows").addEventListener("pointerenter", (event) => holdOrder((pointed = event.pointerType === "mouse") || focused));
at("rows").addEventListener("pointerleave", () => holdOrder((pointed = false) || focused));
at("rows").addEventListener("focusin", () => holdOrder((focused = true)));
at("rows").addEventListener("focusout", () => holdOrder((focused = false) || pointed));
ask();
