// Types of the k6 API for load tests and benchmark. k6 strips types without checking. Source:
// reference of k6 1.8.

declare module 'k6' {
  export function sleep(seconds: number): void;
}

declare module 'k6/http' {
  type Params = {
    headers?: Record<string, string>;
    tags?: Record<string, string>;
    timeout?: string;
  };
  export type Response = {
    /** 0 without an answer. */
    status: number;
    /** `null` without an answer. */
    body: string | null;
    /** Headers by canonical name. */
    headers: Record<string, string>;
    /** Times in milliseconds. */
    timings: { duration: number };
    error: string;
  };
  export type BatchRequest = {
    method: string;
    url: string;
    body?: string | undefined;
    params?: Params;
  };
  export function batch(requests: BatchRequest[]): Response[];
  export function post(url: string, body: string, params?: Params): Response;
  export function request(
    method: string,
    url: string,
    body: string | undefined,
    params?: Params,
  ): Response;
}

declare module 'k6/data' {
  /** A list that all users share. Each access copies an element. */
  export class SharedArray<T> {
    constructor(name: string, read: () => T[]);
    readonly length: number;
    [index: number]: T | undefined;
  }
}

declare module 'k6/execution' {
  export const scenario: { iterationInTest: number };
}

declare module 'k6/metrics' {
  type Tags = Record<string, string>;
  export class Counter {
    constructor(name: string);
    add(value: number, tags?: Tags): void;
  }
  export class Rate {
    constructor(name: string);
    add(value: boolean, tags?: Tags): void;
  }
  export class Trend {
    constructor(name: string, isTime?: boolean);
    add(value: number, tags?: Tags): void;
  }
}

declare module 'k6/options' {
  type Users = { executor: 'constant-vus'; exec: string; vus: number; duration: string };
  type Arrivals = {
    exec: string;
    timeUnit: string;
    preAllocatedVUs: number;
    maxVUs: number;
    startTime?: string;
    gracefulStop?: string;
    env?: Record<string, string>;
  };
  export type Scenario =
    | Users
    | (Arrivals &
        (
          | { executor: 'constant-arrival-rate'; rate: number; duration: string }
          | {
              executor: 'ramping-arrival-rate';
              startRate: number;
              stages: { target: number; duration: string }[];
            }
        ));
  type Threshold = string | { threshold: string; abortOnFail: boolean; delayAbortEval: string };
  export type Options = {
    discardResponseBodies?: boolean;
    batch?: number;
    batchPerHost?: number;
    setupTimeout?: string;
    teardownTimeout?: string;
    summaryTrendStats: string[];
    scenarios: Record<string, Scenario>;
    thresholds: Record<string, Threshold[]>;
  };
}

declare const __ENV: Readonly<Record<string, string | undefined>>;
declare function open(path: string): string;
