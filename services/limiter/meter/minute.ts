import { resetOfNewWindow, resetOfRunningWindow, WINDOW_MS } from '#accounts/windows';
import { DurableWatermark } from '#limiter/meter/durable-watermark';
import type { Instant } from '#platform/clock';
import type { MeterRecord } from '#storage/ports/meters';

/** The window of a record. */
type RecordedWindow = Pick<MeterRecord, 'windowEndsAtMs' | 'windowWatermark' | 'unrecorded'>;

/**
 * The requests of one account's window, which begins with the first request after the last one
 * ended and is measured by the monotonic clock (decision 25, interface 8.1).
 */
export class Minute {
  /** How many requests of the present window records allow. */
  readonly watermark = new DurableWatermark();
  /** By the monotonic clock, rounded up: a window is never shorter than it should be. */
  #endsAtMs = 0;
  #resetAtS = 0;
  #requests = 0;
  /** Those of them that are in no record. */
  #unrecorded = 0;

  /**
   * Continues the window of a record: all that it allowed counts as requested, and what is `forgotten`, as
   * far as the record has not counted it.
   */
  restore(
    { windowEndsAtMs, windowWatermark, unrecorded = 0 }: RecordedWindow,
    now: Instant,
    forgotten = 0,
  ): void {
    const leftMs = Math.min(WINDOW_MS, windowEndsAtMs - now.wallMs);
    if (leftMs <= 0) return;
    this.#endsAtMs = Math.ceil(now.monotonicMs + leftMs);
    this.#resetAtS = Math.ceil((now.wallMs + leftMs) / 1_000);
    this.#requests = windowWatermark + Math.max(0, forgotten - unrecorded);
    this.#unrecorded = Math.max(forgotten, unrecorded);
    this.watermark.set(windowWatermark, 0);
  }

  /** Requests in the window that is open now; 0 between two. */
  requests(now: Instant): number {
    return this.isOpen(now) ? this.#requests : 0;
  }

  /** Whether a window is open. */
  isOpen(now: Instant): boolean {
    return now.monotonicMs < this.#endsAtMs;
  }

  /** Opens a window if none is open; what is `forgotten` of an earlier one counts as requested. */
  open(now: Instant, forgotten = 0): void {
    if (this.isOpen(now)) return;
    this.#endsAtMs = Math.ceil(now.monotonicMs + WINDOW_MS);
    this.#resetAtS = resetOfNewWindow(now.wallMs);
    this.#requests = forgotten;
    this.#unrecorded = forgotten;
    this.watermark.set(0, 0);
  }

  /** The window as a record says it that allows requests up to a watermark. */
  recorded(windowWatermark: number, now: Instant): RecordedWindow {
    const window = { windowEndsAtMs: this.endsAtWallMs(now), windowWatermark };
    const isAllOfIt = windowWatermark >= this.#requests && this.isOpen(now);
    return isAllOfIt && this.#unrecorded > 0 ? { ...window, unrecorded: this.#unrecorded } : window;
  }

  /** Counts a request of the open window. */
  count(now: Instant): void {
    this.#requests += 1;
    this.watermark.noteUse(1, now.monotonicMs);
  }

  /** How many requests of the open window have been counted that no record may allow. */
  get unrecorded(): number {
    return this.#unrecorded;
  }

  /** Counts one more of those. */
  countUnrecorded(): void {
    this.#requests += 1;
    this.#unrecorded += 1;
  }

  /** Unix second at which the window ends, or one that began now would. */
  resetAtS(now: Instant): number {
    this.#resetAtS = this.isOpen(now)
      ? resetOfRunningWindow(this.#resetAtS, this.#endsAtMs, now)
      : resetOfNewWindow(now.wallMs);
    return this.#resetAtS;
  }

  /** Unix milliseconds at which the open window ends; 0 between two. */
  endsAtWallMs(now: Instant): number {
    if (!this.isOpen(now)) return 0;
    return Math.round(now.wallMs + this.#endsAtMs - now.monotonicMs);
  }
}
