// Shows how long work stands: asks for the page again, puts what is marked data-live in place of what was there, and
// loads the page whole when nothing is waited for any more. Without scripts the page loads itself anew.
"use strict";

const PAUSE_MS = 1000;
const PAUSE_AFTER_FAULT_MS = 5000;

async function look() {
  const answer = await fetch(location.href, { headers: { Accept: "text/html" }, redirect: "manual" });
  if (!answer.ok) {
    if (answer.status < 500) location.reload();
    return PAUSE_AFTER_FAULT_MS;
  }
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const parts = page.querySelectorAll("[data-live]");
  if (parts.length === 0) {
    location.reload();
    return PAUSE_AFTER_FAULT_MS;
  }
  for (const part of parts) document.getElementById(part.id)?.replaceChildren(...part.childNodes);
  return PAUSE_MS;
}

async function keepLooking() {
  const pause = document.hidden ? PAUSE_MS : await look().catch(() => PAUSE_AFTER_FAULT_MS);
  setTimeout(keepLooking, pause);
}

setTimeout(keepLooking, PAUSE_MS);
