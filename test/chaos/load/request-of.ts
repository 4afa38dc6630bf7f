import { MODE_KEYS, MODE_TARGETS } from '#identity/modes';
import type { Requested, SentObservation } from '#test/chaos/load/call-log';
import type { Asked } from '#test/chaos/load/edge-caller';

/** REST request of a call, without the API key. */
export function requestOf(
  requested: Requested,
  instance: string,
): Pick<Asked, 'method' | 'path' | 'body'> {
  const path = `/instances/${instance}`;
  switch (requested.kind) {
    case 'create': {
      const strengths = MODE_KEYS.map((key, mode) => [key, requested.modeStrengths[mode]]);
      const config = {
        mode_strengths: Object.fromEntries(strengths),
        energy_level: requested.energyLevel,
      };
      const body = { name: requested.name, initial_config: config };
      return { method: 'POST', path: '/instances', body };
    }
    case 'process': {
      const bodies = requested.observations.map(observationBody);
      if (!requested.isBatch) return { method: 'POST', path: `${path}/process`, body: bodies[0] };
      const body = { observations: bodies, include_intermediate: requested.isEveryStateWanted };
      return { method: 'POST', path: `${path}/process/batch`, body };
    }
    case 'reset':
      return { method: 'POST', path: `${path}/reset`, body: { mode: requested.mode } };
    case 'rename':
      return { method: 'PATCH', path, body: { name: requested.name } };
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
