import { MODE_KEYS, MODE_TARGETS } from '#identity/modes';
import type { Party } from '#test/fuzz/party';
import type { SeededRandom } from '#test/simulation/seeded-random';

/** A request before serialization. */
export type Request = {
  method: string;
  target: string;
  headers: [name: string, value: string][];
  body: Buffer | undefined;
};

/** An instance id that does not exist. */
const UNKNOWN_ID = 'inst_ffffffffffffffff';

const TIMES = ['2026-01-15T12:00:00Z', '2026-01-15t12:00:00.5+01:00', '2025-02-28T23:59:59.999Z'];

/** Generates a request for one endpoint: method, path, and JSON body. `own` is an instance id. */
type Maker = (random: SeededRandom, party: Party, own: string) => [string, string, unknown?];

const MAKERS: readonly Maker[] = [
  (random, party) => ['POST', '/instances', newInstance(random, party)],
  (random) => ['GET', `/instances?limit=${random.whole(1, 100)}&offset=${random.whole(0, 5)}`],
  (_, __, own) => ['GET', `/instances/${own}`],
  (random, { marker }, own) => [
    'PATCH',
    `/instances/${own}`,
    { name: word(random, marker), tags: tags(random, marker) },
  ],
  (_, __, own) => ['DELETE', `/instances/${own}`],
  (random, party, own) => ['POST', `/instances/${own}/process`, observation(random, party)],
  (random, party, own) => ['POST', `/instances/${own}/process/batch`, batch(random, party)],
  (_, __, own) => ['GET', `/instances/${own}/snapshot`],
  (_, __, own) => ['GET', `/instances/${own}/contract`],
  (random, _, own) => [
    'POST',
    `/instances/${own}/reset`,
    { mode: random.pick(['initial', 'default']) },
  ],
  (random, _, own) => ['GET', `/instances/${own}/history?limit=${random.whole(1, 50)}`],
  (_, __, own) => ['GET', `/instances/${own}/drift?generation=all`],
  (random, _, own) => ['GET', `/instances/${own}/states?cycles=${random.whole(0, 9)},2`],
  (random, _, own) => ['GET', `/instances/${own}/states?points=${random.whole(1, 200)}`],
  (random, { marker }, own) => [
    'POST',
    `/instances/${own}/fork`,
    { name: word(random, marker), cycle: random.whole(0, 9) },
  ],
  () => ['GET', '/test/questions'],
  (random) => ['POST', '/test/submit', submission(random)],
  () => ['GET', '/personas'],
  () => ['GET', '/personas/persona_guardian'],
];

/** Generates a request that the API document allows, for an instance of the party or no instance. */
export function validRequest(random: SeededRandom, party: Party): Request {
  const own = random.happens(0.9) ? random.pick(party.ids) : UNKNOWN_ID;
  const maker = random.pick(MAKERS);
  const [method, path, json] = maker(random, party, own);
  const headers: [string, string][] = [
    ['Host', 'localhost'],
    ['Authorization', `Bearer ${party.key}`],
    ['X-Request-Id', `${party.marker}.${random.uint32().toString(16)}`],
  ];
  const isWrite = json !== undefined;
  if (isWrite) headers.push(['Content-Type', 'application/json']);
  if (isWrite && random.happens(0.3)) headers.push(['Idempotency-Key', word(random, party.marker)]);
  if (random.happens(0.2)) headers.push(['Prefer', random.pick(PREFERENCES)]);
  const body = isWrite ? Buffer.from(JSON.stringify(json)) : undefined;
  return { method, target: `/v1${path}`, headers, body };
}

const PREFERENCES = ['handling=strict', 'return=minimal', 'respond-async', ''];

function word(random: SeededRandom, marker: string): string {
  return `${marker} ${random.uint32().toString(36)}`;
}

function tags(random: SeededRandom, marker: string) {
  return { [word(random, marker)]: word(random, marker) };
}

function newInstance(random: SeededRandom, { marker }: Party) {
  const key = random.pick(MODE_KEYS);
  return {
    name: word(random, marker),
    description: word(random, marker),
    tags: tags(random, marker),
    initial_config: { mode_strengths: { [key]: random.unit() }, energy_level: random.unit() },
  };
}

function observation(random: SeededRandom, { marker }: Party) {
  return {
    mode_target: random.pick(MODE_TARGETS),
    signal_strength: random.unit(),
    context: { diary: word(random, marker) },
    ...(random.happens(0.5) ? { timestamp: random.pick(TIMES) } : {}),
  };
}

function batch(random: SeededRandom, party: Party) {
  const observations = Array.from({ length: random.whole(1, 4) }, () => ({
    ...observation(random, party),
    timestamp: undefined,
  }));
  return { observations, include_intermediate: random.happens(0.5) };
}

function submission(random: SeededRandom) {
  const answers = Array.from({ length: 35 }, (_, index) => ({
    question_id: `q${String(index + 1).padStart(2, '0')}`,
    value: random.whole(1, 5),
  }));
  return { answers };
}
