import { converse } from '#test/fuzz/converse';
import { type Script, scriptOf } from '#test/fuzz/framing';
import { type Asked, judge } from '#test/fuzz/judge';
import { mutate } from '#test/fuzz/mutate';
import type { Party } from '#test/fuzz/party';
import { type Request, validRequest } from '#test/fuzz/request';
import { SeededRandom } from '#test/simulation/seeded-random';

/** Connections per party and round. */
const TALKS = 40;

/** Problems on a connection, with its traffic. */
export type Finding = {
  readonly seed: number;
  readonly problems: readonly string[];
  readonly sent: string;
  readonly received: string;
};

/** Maximum bytes per direction shown in a finding. */
const SHOWN_BYTES = 1_500;

/**
 * Plays the round for a seed: both parties send concurrently, each over consecutive connections.
 * With the same seed, the parties send the same bytes, except keys, markers and instance ids.
 */
export async function playRound(
  seed: number,
  port: number,
  parties: readonly Party[],
): Promise<{ readonly findings: Finding[]; readonly talks: number }> {
  const random = new SeededRandom(seed);
  const played = await Promise.all(
    parties.map((party) => {
      const others = parties.filter((other) => other !== party);
      return playParty(seed, port, random.fork(), party, others);
    }),
  );
  return { findings: played.flat(), talks: parties.length * TALKS };
}

async function playParty(
  seed: number,
  port: number,
  random: SeededRandom,
  party: Party,
  others: readonly Party[],
): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (let talk = 0; talk < TALKS; talk += 1) {
    const asked = plannedTalk(random.fork(), party, others);
    const answered = await converse(port, asked.script);
    const problems = judge(asked, answered);
    if (problems.length === 0) continue;
    const sent = shown(bytesOf(asked.script), party);
    findings.push({ seed, problems, sent, received: shown(answered.received, party) });
  }
  return findings;
}

/** Plans a connection: requests, bytes and expected answers. */
export function plannedTalk(random: SeededRandom, party: Party, others: readonly Party[]): Asked {
  const count = random.happens(0.2) ? random.whole(2, 5) : 1;
  const requests = Array.from({ length: count }, () => {
    const request = validRequest(random, party);
    mutate(request, random, others);
    return request;
  });
  const script = scriptOf(requests, random);
  const isForeign = requests.every((request) => isAbout(request, others));
  const isApi = requests.every(({ target }) => /^\/v1(?:[/?#]|$)/.test(target));
  return { party, others, script, isForeign, isApi };
}

function isAbout({ target }: Request, others: readonly Party[]): boolean {
  const [, id = ''] = /^\/v1\/instances\/(inst_[0-9a-f]{16})(?:[/?]|$)/.exec(target) ?? [];
  return others.some(({ ids }) => ids.includes(id));
}

function bytesOf({ steps }: Script): Buffer {
  return Buffer.concat(steps.map((step) => (step.kind === 'write' ? step.bytes : Buffer.alloc(0))));
}

/** The bytes as printable text without the API key, cut after `SHOWN_BYTES` characters. */
function shown(bytes: Buffer, { key }: Party): string {
  const text = JSON.stringify(bytes.toString('latin1').replaceAll(key, '<key>'));
  return text.length <= SHOWN_BYTES ? text : `${text.slice(0, SHOWN_BYTES)}… ${bytes.length} bytes`;
}
