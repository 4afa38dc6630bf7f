/**
 * The twelve personas' mode strengths, in interface 2.8 order. Clients can post a profile unchanged
 * as `initial_config.mode_strengths`. Source: model 5.
 */
export const PERSONA_PROFILES = [
  { id: 'persona_analytical', strengths: [0.85, 0.25, 0.75, 0.35, 0.25, 0.45, 0.2] },
  { id: 'persona_creative', strengths: [0.45, 0.85, 0.2, 0.65, 0.4, 0.5, 0.3] },
  { id: 'persona_leader', strengths: [0.45, 0.4, 0.5, 0.85, 0.35, 0.75, 0.15] },
  { id: 'persona_supporter', strengths: [0.65, 0.25, 0.35, 0.2, 0.85, 0.45, 0.3] },
  { id: 'persona_explorer', strengths: [0.5, 0.85, 0.15, 0.4, 0.6, 0.3, 0.15] },
  { id: 'persona_guardian', strengths: [0.5, 0.15, 0.85, 0.45, 0.4, 0.75, 0.3] },
  { id: 'persona_philosopher', strengths: [0.7, 0.5, 0.3, 0.2, 0.35, 0.85, 0.3] },
  { id: 'persona_performer', strengths: [0.3, 0.5, 0.15, 0.7, 0.85, 0.45, 0.3] },
  { id: 'persona_scholar', strengths: [0.8, 0.55, 0.62, 0.15, 0.2, 0.55, 0.1] },
  { id: 'persona_diplomat', strengths: [0.55, 0.25, 0.65, 0.25, 0.8, 0.45, 0.15] },
  { id: 'persona_pioneer', strengths: [0.3, 0.85, 0.45, 0.8, 0.25, 0.55, 0.1] },
  { id: 'persona_catalyst', strengths: [0.25, 0.8, 0.2, 0.6, 0.75, 0.35, 0.3] },
] as const satisfies readonly { id: string; strengths: readonly number[] }[];
/** Persona id. */
export type PersonaId = (typeof PERSONA_PROFILES)[number]['id'];

/** A persona's position in `PERSONA_PROFILES`. */
export function personaIndexOf(id: PersonaId): number {
  return PERSONA_PROFILES.findIndex((profile) => profile.id === id);
}
