import { Refused } from '#pages/api';
import type { Observation } from '#pages/instance/instance-calls';
import { MODES } from '#pages/instance-answers';

/** The modes as observations name them, with their names. */
export const MODE_CHOICES = MODES.map(([key, name]) => [key.toUpperCase(), name] as const);

/** The texts of a form that describes an observation. */
export type ObservationTexts = {
  readonly mode_target?: string;
  readonly signal_strength?: string;
  readonly confidence?: string;
  readonly context?: string;
  readonly timestamp?: string;
};

/**
 * The observation that a form describes; what it leaves empty is left out. Throws `Refused` for a context
 * that is no JSON object and for a time that is none; the rest the service looks at.
 */
export function observationOf(texts: ObservationTexts): Observation {
  const { mode_target = 'ORDER', signal_strength = '', confidence = '' } = texts;
  const { context = '', timestamp = '' } = texts;
  return {
    mode_target,
    signal_strength: Number(signal_strength),
    ...(confidence.trim() === '' ? {} : { confidence: Number(confidence) }),
    ...(context.trim() === '' ? {} : { context: objectOf(context) }),
    ...(timestamp === '' ? {} : { timestamp: timeOf(timestamp) }),
  };
}

function objectOf(text: string): Readonly<Record<string, unknown>> {
  const parsed = parsedOf(text);
  if (typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed)) {
    return parsed as Readonly<Record<string, unknown>>;
  }
  throw wrong('context', 'must be a JSON object, such as {"turn": 3}');
}

function parsedOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A field for a time means the viewer's zone. */
function timeOf(text: string): string {
  const time = new Date(text);
  if (Number.isNaN(time.getTime())) throw wrong('timestamp', 'must be a time');
  return time.toISOString();
}

const wrong = (field: string, message: string): Refused =>
  new Refused('invalid_request', message, { field });
