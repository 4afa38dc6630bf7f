import { type ReadonlySignal, signal } from '@preact/signals';
import { useEffect, useState } from 'preact/hooks';
import { instanceApi } from '#pages/instance/api';
import { EVENT_NAMES, eventOf, type InstanceEvent } from '#pages/instance/events';
import { type InstanceView, LiveInstance } from '#pages/instance/live';
import { idIn } from '#pages/shell/api';
import { LiveStream, type StreamStatus } from '#pages/shell/live-stream';

/** Model of a followed instance, for rendering. */
export type LiveModel = {
  readonly view: ReadonlySignal<InstanceView>;
  /** Newest known state, which may be newer than the rendered state. */
  readonly now: () => InstanceView['now'];
  readonly status: ReadonlySignal<StreamStatus>;
  readonly isPaused: ReadonlySignal<boolean>;
  /** Pauses or continues rendering. Events are applied during a pause, too. */
  readonly pause: (isPaused: boolean) => void;
};

/**
 * Minimum interval between two renders, in milliseconds. Twenty renders per second look smooth, and
 * a render takes most of the time of a frame.
 */
const DRAW_MS_MIN = 50;

/**
 * Follows an instance while the component is mounted. `generation` is the present generation, if
 * known. Renders at most twenty times per second, and not at all in a hidden tab.
 */
export function useLiveInstance(id: string, generation: number | undefined): LiveModel {
  const [model] = useState(() => makeModel(generation));
  useEffect(() => model.follow(id), [id]);
  return model;
}

function makeModel(
  generation: number | undefined,
): LiveModel & { readonly follow: (id: string) => () => void } {
  const live = new LiveInstance(generation);
  const view = signal(live.view());
  const status = signal<StreamStatus>('connecting');
  const isPaused = signal(false);
  let frame: number | undefined;
  let drawnAtMs = Number.NEGATIVE_INFINITY;
  const draw = (nowMs: number) => {
    // Skips frames until the minimum interval has passed, so that the browser can do other work.
    if (nowMs - drawnAtMs < DRAW_MS_MIN) {
      frame = requestAnimationFrame(draw);
      return;
    }
    frame = undefined;
    drawnAtMs = nowMs;
    if (!isPaused.value) view.value = live.view();
  };
  // Browsers run no animation frames in a hidden tab.
  const drawSoon = () => {
    frame ??= requestAnimationFrame(draw);
  };
  return {
    ...{ view, status, isPaused, now: () => live.now },
    pause(now) {
      isPaused.value = now;
      drawSoon();
    },
    follow(id) {
      const take = (event: InstanceEvent) => {
        live.apply(event);
        drawSoon();
      };
      const address = `/api/instances/${idIn(id)}/events`;
      const stream = new LiveStream({
        names: EVENT_NAMES,
        addressAfter: (lastId) => (lastId === '' ? address : `${address}?after=${lastId}`),
        look: () => instanceApi.look(id),
        onOpened: () => take({ kind: 'opened' }),
        onEvent: (name, lastId, data) => {
          take(eventOf(name, lastId, data));
          if (name === 'deleted') stream.end();
        },
        onMissing: () => take({ kind: 'deleted' }),
        onStatus: (now) => {
          status.value = now;
        },
      });
      return () => {
        stream[Symbol.dispose]();
        if (frame !== undefined) cancelAnimationFrame(frame);
      };
    },
  };
}
