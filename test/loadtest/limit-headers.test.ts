import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { headersProblem, type LimitedAnswer } from '#loadtest/k6/limit-headers';

const NOW_S = 1_790_000_000;
const KNOWN = { requestsPerMinute: 60, cyclesPerMonth: 1_000 };

const HEADERS = {
  'X-Ratelimit-Limit': '60',
  'X-Ratelimit-Remaining': '59',
  'X-Ratelimit-Reset': `${NOW_S + 42}`,
  'X-Monthly-Remaining': '999',
  'Ratelimit-Policy': '"minute";q=60;w=60',
  Ratelimit: '"minute";r=59;t=42',
};

const LIMITED = { 'X-Ratelimit-Remaining': '0', 'Retry-After': '42' };
const body = (error: string, retry: number) => `{"error":"${error}","retry_after":${retry}}`;

const headers = suite('limit headers');

for (const [what, status, changed, text, problem] of [
  ['a success', 200, {}, '', undefined],
  ['a 404', 404, {}, '', undefined],
  ['a limit other than the plan', 200, { 'X-Ratelimit-Limit': '61' }, '', /not the plan's 60/],
  [
    'as many remaining requests as the plan',
    200,
    { 'X-Ratelimit-Remaining': '60' },
    '',
    /60 of 60/,
  ],
  [
    'a negative number of remaining requests',
    200,
    { 'X-Ratelimit-Remaining': '-1' },
    '',
    /not an integer/,
  ],
  [
    'a decimal number',
    200,
    { 'X-Monthly-Remaining': '1.5' },
    '',
    /X-Monthly-Remaining is not an integer/,
  ],
  ['a missing header', 200, { 'X-Ratelimit-Limit': '' }, '', /X-RateLimit-Limit is not an integer/],
  ['an expired window', 200, { 'X-Ratelimit-Reset': `${NOW_S - 3}` }, '', /in the past/],
  ['a window of two minutes', 200, { 'X-Ratelimit-Reset': `${NOW_S + 120}` }, '', /a minute away/],
  ['more cycles than the quota', 200, { 'X-Monthly-Remaining': '1001' }, '', /above the quota/],
  ['a missing RateLimit header', 200, { Ratelimit: undefined }, '', /RateLimit .*missing/],
  ['an exhausted minute', 429, LIMITED, body('rate_limited', 42), undefined],
  [
    'an exhausted minute with remaining requests',
    429,
    { 'Retry-After': '42' },
    body('rate_limited', 42),
    /429 with/,
  ],
  [
    'a Retry-After before the end of the window',
    429,
    { ...LIMITED, 'Retry-After': '5' },
    body('rate_limited', 5),
    /earlier/,
  ],
  ['two different retry times', 429, LIMITED, body('rate_limited', 43), /but retry_after 43/],
  [
    'an exhausted month',
    429,
    { 'Retry-After': '99999' },
    body('quota_exceeded', 99_999),
    undefined,
  ],
  ['a 503', 503, { 'X-Ratelimit-Limit': '0', 'Retry-After': '2' }, '', undefined],
  ['a 503 without Retry-After', 503, {}, '', /503 without Retry-After/],
] as const) {
  headers(`are ${problem === undefined ? 'accepted' : 'rejected'} for ${what}`, () => {
    const all = { ...HEADERS, ...changed } as LimitedAnswer['headers'];
    const found = headersProblem({ status, headers: all, body: text }, KNOWN, NOW_S);
    if (problem === undefined) assert.is(found, undefined);
    else assert.match(found ?? 'nothing found', problem);
  });
}

headers.run();
