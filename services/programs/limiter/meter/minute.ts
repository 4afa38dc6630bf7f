import { resetOfNewWindow, resetOfRunningWindow, WINDOW_MS } from '#accounts/windows';
import { DurableWatermark } from '#limiter/meter/durable-watermark';
import type { Instant } from '#stdlib/clock';
import type { MeterRecord } from '#storage/ports/meters';

/** The part of a record about the window. */
type RecordedWindow = Pick<MeterRecord, 'windowEndsAtMs' | 'windowWatermark' | 'unrecorded'>;

/**
 * The requests of one account's window of one minute. A window begins with the first request after
 * the previous window ended. The monotonic clock measures the window (decision 25, interface 8.1).
 */
export class Minute {
  /** Durable upper bound of requests in the present window. */
  readonly watermark = new DurableWatermark();
  /** Monotonic milliseconds, rounded up: a window is never shorter than a minute. */
  #endsAtMs = 0;
  #resetAtS = 0;
  #requests = 0;
  /** Counted requests of the window that no record covers. */
  #unrecorded = 0;

  /**
   * Continues the window of a record. All requests that the watermark allowed count as made.
   * Requests in `forgotten` also count, unless the record includes them in `unrecorded`.
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

  /** Requests in the open window; 0 if no window is open. */
  requests(now: Instant): number {
    return this.isOpen(now) ? this.#requests : 0;
  }

  /** Whether a window is open. */
  isOpen(now: Instant): boolean {
    return now.monotonicMs < this.#endsAtMs;
  }

  /**
   * Opens a window if none is open, with the `forgotten` requests of an earlier process counted.
   */
  open(now: Instant, forgotten = 0): void {
    if (this.isOpen(now)) return;
    this.#endsAtMs = Math.ceil(now.monotonicMs + WINDOW_MS);
    this.#resetAtS = resetOfNewWindow(now.wallMs);
    this.#requests = forgotten;
    this.#unrecorded = forgotten;
    this.watermark.set(0, 0);
  }

  /** The record of the window with this watermark. */
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

  /** Number of counted requests in the open window that may have no record. */
  get unrecorded(): number {
    return this.#unrecorded;
  }

  /** Counts a request without a record. */
  countUnrecorded(): void {
    this.#requests += 1;
    this.#unrecorded += 1;
  }

  /** Unix second at which the open window ends, or at which a window that began now would end. */
  resetAtS(now: Instant): number {
    this.#resetAtS = this.isOpen(now)
      ? resetOfRunningWindow(this.#resetAtS, this.#endsAtMs, now)
      : resetOfNewWindow(now.wallMs);
    return this.#resetAtS;
  }

  /** Unix milliseconds at which the open window ends; 0 if no window is open. */
  endsAtWallMs(now: Instant): number {
    if (!this.isOpen(now)) return 0;
    return Math.round(now.wallMs + this.#endsAtMs - now.monotonicMs);
  }
}
