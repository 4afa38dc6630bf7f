import { type ReadonlySignal, signal } from '@preact/signals';
import { useEffect, useState } from 'preact/hooks';
import { type InstanceView, LiveInstance } from '#pages/instance/live';
import { InstanceStream, type StreamStatus } from '#pages/instance/stream';

/** An instance that is followed, as it is drawn. */
export type LiveModel = {
  readonly view: ReadonlySignal<InstanceView>;
  /** The newest state that is known, also while another one is drawn. */
  readonly now: () => InstanceView['now'];
  readonly status: ReadonlySignal<StreamStatus>;
  readonly isPaused: ReadonlySignal<boolean>;
  /** While it is paused nothing that is drawn changes; what happens is not lost. */
  readonly pause: (isPaused: boolean) => void;
};

/** Between two draws, in milliseconds: twenty a second move smoothly, and each takes most of a frame. Chosen. */
const DRAW_MS_MIN = 50;

/**
 * Follows an instance for as long as the component is there. However much happens, what is drawn changes
 * twenty times a second at most, and in a tab that is not looked at not at all.
 */
export function useLiveInstance(id: string): LiveModel {
  const [model] = useState(makeModel);
  useEffect(() => model.follow(id), [id]);
  return model;
}

function makeModel(): LiveModel & { readonly follow: (id: string) => () => void } {
  const live = new LiveInstance();
  const view = signal(live.view());
  const status = signal<StreamStatus>('connecting');
  const isPaused = signal(false);
  let frame: number | undefined;
  let drawnAtMs = Number.NEGATIVE_INFINITY;
  const draw = (nowMs: number) => {
    // Between two draws the browser has frames for everything else.
    if (nowMs - drawnAtMs < DRAW_MS_MIN) {
      frame = requestAnimationFrame(draw);
      return;
    }
    frame = undefined;
    drawnAtMs = nowMs;
    if (!isPaused.value) view.value = live.view();
  };
  // The browser has no frames for a tab that is not looked at.
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
      const stream = new InstanceStream(id, {
        onEvent: (event) => {
          live.apply(event);
          drawSoon();
        },
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
