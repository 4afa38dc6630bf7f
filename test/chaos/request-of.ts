import { MODE_KEYS, MODE_TARGETS } from '#identity/modes';
import type { SentObservation, Wish } from '#test/chaos/call-log';
import type { Asked } from '#test/chaos/edge-caller';

/** The REST request that a wish is, without the caller's keys. */
export function requestOf(wish: Wish, instance: string): Pick<Asked, 'method' | 'path' | 'body'> {
  const path = `/instances/${instance}`;
  switch (wish.kind) {
    case 'create': {
      const strengths = MODE_KEYS.map((key, mode) => [key, wish.modeStrengths[mode]]);
      const config = {
        mode_strengths: Object.fromEntries(strengths),
        energy_level: wish.energyLevel,
      };
      const body = { name: wish.name, initial_config: config };
      return { method: 'POST', path: '/instances', body };
    }
    case 'process': {
      const bodies = wish.observations.map(observationBody);
      if (!wish.isBatch) return { method: 'POST', path: `${path}/process`, body: bodies[0] };
      const body = { observations: bodies, include_intermediate: wish.isEveryStateWanted };
      return { method: 'POST', path: `${path}/process/batch`, body };
    }
    case 'reset':
      return { method: 'POST', path: `${path}/reset`, body: { mode: wish.mode } };
    case 'rename':
      return { method: 'PATCH', path, body: { name: wish.name } };
    case 'remove':
      return { method: 'DELETE', path };
    case 'read':
      return { method: 'GET', path: `${path}/snapshot` };
  }
}

function observationBody({ mark, mode, signal, confidence, timestampMs }: SentObservation) {
  return {
    mode_target: MODE_TARGETS[mode],
    signal_strength: signal,
    confidence,
    context: { mark },
    timestamp: new Date(timestampMs).toISOString(),
  };
}
