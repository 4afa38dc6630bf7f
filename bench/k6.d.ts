// What open-model.k6.ts uses of k6, which runs it; k6 strips these types and checks nothing.

declare module 'k6/http' {
  type Params = { headers?: Record<string, string>; tags?: Record<string, string> };
  export function post(url: string, body: string, params?: Params): { status: number };
}

declare module 'k6/execution' {
  export const scenario: { iterationInTest: number };
}

declare module 'k6/options' {
  type Scenario = {
    executor: string;
    exec: string;
    rate: number;
    timeUnit: string;
    duration: string;
    preAllocatedVUs: number;
    maxVUs: number;
  };
  export type Options = {
    discardResponseBodies: boolean;
    summaryTrendStats: string[];
    scenarios: Record<string, Scenario>;
    thresholds: Record<string, string[]>;
  };
}

declare const __ENV: {
  readonly [Name in
    | 'ADDRESS'
    | 'FIRST_S'
    | 'INSTANCES'
    | 'KEY'
    | 'RATE'
    | 'SECONDS'
    | 'STEP_S']?: string;
};
declare function open(path: string): string;
