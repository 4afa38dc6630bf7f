import { useSignalEffect } from '@preact/signals';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { LiveModel } from '#pages/instance/live-model';

/** Minimum time between two announcements, in milliseconds. */
const PAUSE_MS = 1_000;

/** Levels that screen readers announce. */
type Levels = { readonly stress: string; readonly drift: string };

/** Text about the changes between two states. Empty without a change. */
function changesText(before: Levels, now: Levels): string {
  return [
    ...(before.stress === now.stress ? [] : [`Stress is now ${now.stress}.`]),
    ...(before.drift === now.drift ? [] : [`Drift is now ${now.drift}.`]),
  ].join(' ');
}

/**
 * Announces changes of stress and drift to screen readers: at most one message a second, about the
 * newest state.
 */
export function Announcer({ live }: { readonly live: LiveModel }) {
  const [text, setText] = useState('');
  const announced = useRef<Levels | undefined>(undefined);
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const lastMs = useRef(Number.NEGATIVE_INFINITY);
  const announce = (): void => {
    timer.current = undefined;
    const now = levelsOf(live);
    if (now === undefined || announced.current === undefined) return;
    const changes = changesText(announced.current, now);
    if (changes === '') return;
    announced.current = now;
    lastMs.current = performance.now();
    setText(changes);
  };
  useSignalEffect(() => {
    const now = levelsOf(live);
    announced.current ??= now;
    if (now === undefined || timer.current !== undefined) return;
    const waitMs = lastMs.current + PAUSE_MS - performance.now();
    if (waitMs > 0) timer.current = setTimeout(announce, waitMs);
    else announce();
  });
  useEffect(() => () => clearTimeout(timer.current), []);
  return (
    <p class="unseen" role="status">
      {text}
    </p>
  );
}

function levelsOf(live: LiveModel): Levels | undefined {
  const { now } = live.view.value;
  return now === undefined
    ? undefined
    : { stress: now.snapshot.stress_state, drift: now.drift.level };
}
