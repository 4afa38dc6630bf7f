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

const headers = suite('the limit headers of an answer');

for (const [what, status, changed, text, problem] of [
  ['a success', 200, {}, '', undefined],
  ['a 404', 404, {}, '', undefined],
  ['another limit than the plan', 200, { 'X-Ratelimit-Limit': '61' }, '', /not the plan's 60/],
  ['as many remaining as the plan', 200, { 'X-Ratelimit-Remaining': '60' }, '', /60 of 60/],
  ['a negative remainder', 200, { 'X-Ratelimit-Remaining': '-1' }, '', /no whole number/],
  ['a decimal', 200, { 'X-Monthly-Remaining': '1.5' }, '', /X-Monthly-Remaining is no whole/],
  ['a missing one', 200, { 'X-Ratelimit-Limit': '' }, '', /X-RateLimit-Limit is no whole/],
  ['a window that is over', 200, { 'X-Ratelimit-Reset': `${NOW_S - 3}` }, '', /in the past/],
  ['a window of two minutes', 200, { 'X-Ratelimit-Reset': `${NOW_S + 120}` }, '', /a minute away/],
  ['more cycles than the quota', 200, { 'X-Monthly-Remaining': '1001' }, '', /above the quota/],
  ['no pair of the draft', 200, { Ratelimit: undefined }, '', /RateLimit .*missing/],
  ['a full minute', 429, LIMITED, body('rate_limited', 42), undefined],
  [
    'a full minute that has one left',
    429,
    { 'Retry-After': '42' },
    body('rate_limited', 42),
    /429 with/,
  ],
  [
    'a retry too early',
    429,
    { ...LIMITED, 'Retry-After': '5' },
    body('rate_limited', 5),
    /earlier/,
  ],
  ['two retries', 429, LIMITED, body('rate_limited', 43), /but retry_after 43/],
  ['a used-up month', 429, { 'Retry-After': '99999' }, body('quota_exceeded', 99_999), undefined],
  ['a 503', 503, { 'X-Ratelimit-Limit': '0', 'Retry-After': '2' }, '', undefined],
  ['a 503 without Retry-After', 503, {}, '', /503 without Retry-After/],
] as const) {
  headers(`are ${problem === undefined ? 'accepted' : 'rejected'}: ${what}`, () => {
    const all = { ...HEADERS, ...changed } as LimitedAnswer['headers'];
    const found = headersProblem({ status, headers: all, body: text }, KNOWN, NOW_S);
    if (problem === undefined) assert.is(found, undefined);
    else assert.match(found ?? 'nothing found', problem);
  });
}

headers.run();
