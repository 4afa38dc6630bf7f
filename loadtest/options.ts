import { isProfileName, PROFILES, type ProfileName } from '#loadtest/k6/profile';

/** Parsed variables of `make load`. */
export type Options = {
  readonly name: ProfileName;
  /** Requests per second; undefined for the profile's default. */
  readonly perS: number | undefined;
  /** Duration in seconds; undefined for the profile's default. */
  readonly seconds: number | undefined;
  /** Target address; undefined for the local cluster. */
  readonly address: { readonly baseUrl: string; readonly apiKey: string } | undefined;
  readonly prometheusUrl: string | undefined;
  /** Results folder; undefined for the default below the user's home folder. */
  readonly resultsFolder: string | undefined;
};

/** An invalid or impossible request. The message is a line for the user. */
export class BadRequest extends Error {
  override readonly name = 'BadRequest';
}

/** Maximum requests per second: more than a k6 process can send. */
const RATE_MAX = 100_000;

/** Maximum duration in seconds: two days. */
const SECONDS_MAX = 172_800;

const UNIT_S: Readonly<Record<string, number>> = { '': 1, s: 1, m: 60, h: 3_600 };

/**
 * Parses the variables of `make load`. Throws `BadRequest` with the name of an invalid variable.
 */
export function readOptions(variables: Readonly<Record<string, string | undefined>>): Options {
  const given = (name: string): string | undefined => {
    const text = variables[name]?.trim() ?? '';
    return text === '' ? undefined : text;
  };
  const name = given('PROFILE');
  if (name === undefined || !isProfileName(name)) {
    const said = name === undefined ? 'is not set' : `is "${name}"`;
    throw new BadRequest(`PROFILE ${said}; choose ${Object.keys(PROFILES).join(', ')}`);
  }
  const baseUrl = given('BASE_URL');
  const apiKey = given('API_KEY');
  if (baseUrl === undefined && apiKey !== undefined) {
    throw new BadRequest(
      'API_KEY is set without BASE_URL: set both, or neither for the local cluster',
    );
  }
  const seconds = secondsIn(given('DURATION'));
  const { secondsMin } = PROFILES[name];
  if (seconds !== undefined && seconds < secondsMin) {
    throw new BadRequest(`DURATION: ${name} takes at least ${secondsMin} s, not ${seconds}`);
  }
  return {
    name,
    perS: rateIn(given('RATE')),
    seconds,
    address: baseUrl === undefined ? undefined : addressOf(baseUrl, apiKey),
    prometheusUrl: urlOf('PROMETHEUS_URL', given('PROMETHEUS_URL')),
    resultsFolder: given('RESULTS'),
  };
}

function rateIn(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const rate = Number(text);
  if (/^\d+(?:\.\d+)?$/.test(text) && rate >= 0.1 && rate <= RATE_MAX) return rate;
  throw new BadRequest(`RATE: requests a second, 0.1 to ${RATE_MAX}, not "${text}"`);
}

function secondsIn(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const [, number = '', unit = ''] = /^(\d+(?:\.\d+)?) ?([smh]?)$/.exec(text) ?? [];
  const seconds = Number(number) * (UNIT_S[unit] ?? Number.NaN);
  if (number !== '' && seconds > 0 && seconds <= SECONDS_MAX) return seconds;
  throw new BadRequest(`DURATION: a time such as 90, 90s, 5m or 2h, not "${text}"`);
}

function addressOf(text: string, apiKey: string | undefined) {
  const baseUrl = urlOf('BASE_URL', text)?.replace(/(?:\/v1)?\/*$/, '') ?? '';
  if (apiKey === undefined) throw new BadRequest('API_KEY is not set: BASE_URL needs an API key');
  // The key becomes a header value: a line break would inject another header.
  if (!/^[\x21-\x7e]+$/.test(apiKey))
    throw new BadRequest('API_KEY contains a character that no API key contains');
  return { baseUrl, apiKey };
}

function urlOf(name: string, text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  const url = URL.parse(text);
  if (url !== null && /^https?:$/.test(url.protocol)) return text.replace(/\/+$/, '');
  throw new BadRequest(`${name}: an address such as http://127.0.0.1:8000, not "${text}"`);
}
