import {
  ACTIONS,
  type Action,
  COMMITMENTS,
  copingPathOf,
  EXPRESSIVENESSES,
  RECOVERY_PATHS,
  type RecoveryPath,
  RISKS,
  TEMPOS,
} from '#identity/contract';
import { MODE_KEYS, type ModeKey } from '#identity/modes';
import { PERSONA_PROFILES, type PersonaId } from '#identity/persona-profiles';
import { PERSONA_TEXTS, type PersonaText } from '#identity/persona-texts';
import { newReport, readReport } from '#identity/report';
import {
  createState,
  ENERGY_DEFAULT,
  OFFSET,
  type StressState,
  stressHalfLifeSeconds,
} from '#identity/state';

/** A reference archetype: written texts and computed fields. Source: interface 2.8. */
export type Persona = PersonaText & {
  id: PersonaId;
  /** Strengths by mode key, usable as an instance's `mode_strengths`. */
  modeProfile: Readonly<Record<ModeKey, number>>;
  decisionStyle: {
    tempo: (typeof TEMPOS)[number];
    risk: (typeof RISKS)[number];
    expressiveness: (typeof EXPRESSIVENESSES)[number];
    commitmentThreshold: (typeof COMMITMENTS)[number];
  };
  /** First allowed actions at rest, strongest first. */
  preferredActions: readonly Action[];
  stressRecovery: {
    preferredPath: RecoveryPath;
    /** Acute stress half-life in minutes, rounded to 0.1. */
    halfLifeMinutes: number;
    supportRequiredAt: StressState;
    cooldownRequiredAt: StressState;
  };
};

/** Number of preferred actions per persona. Source: model 5. */
const PREFERRED_ACTION_COUNT = 5;

/** The twelve personas in interface 2.8 order. */
export const PERSONAS: readonly Persona[] = PERSONA_PROFILES.map((profile) =>
  personaOf(profile.id, profile.strengths),
);

/** Finds a persona; undefined if the id is unknown. */
export function findPersona(id: string): Persona | undefined {
  return PERSONAS.find((persona) => persona.id === id);
}

/** Builds a persona. The contract rules at rest give the computed fields. Source: model 5. */
function personaOf(id: PersonaId, strengths: readonly number[]): Persona {
  const state = createState({ modeStrengths: strengths, energyLevel: ENERGY_DEFAULT });
  const report = newReport();
  readReport(state, report);
  const { style, allowed } = report.contract;
  const profile = MODE_KEYS.map((key, mode) => [key, strengths[mode] ?? 0] as const);
  return {
    id,
    ...PERSONA_TEXTS[id],
    modeProfile: Object.fromEntries(profile) as Record<ModeKey, number>,
    decisionStyle: {
      tempo: TEMPOS[style.tempo] ?? TEMPOS[0],
      risk: RISKS[style.risk] ?? RISKS[0],
      expressiveness: EXPRESSIVENESSES[style.expressiveness] ?? EXPRESSIVENESSES[0],
      commitmentThreshold: COMMITMENTS[style.commitment] ?? COMMITMENTS[0],
    },
    preferredActions: Array.from(allowed.items.subarray(0, allowed.count))
      .slice(0, PREFERRED_ACTION_COUNT)
      .map((action) => ACTIONS[action] ?? ACTIONS[0]),
    stressRecovery: {
      preferredPath: RECOVERY_PATHS[copingPathOf(state, OFFSET.setPoint)] ?? RECOVERY_PATHS[0],
      halfLifeMinutes: Math.round(stressHalfLifeSeconds(strengths) / 6) / 10,
      supportRequiredAt: 'OVER',
      cooldownRequiredAt: 'OVER',
    },
  };
}
