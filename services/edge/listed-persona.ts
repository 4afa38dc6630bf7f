import type { Persona } from '#identity/personas';

/** A persona as the list shows it. Source: interface 2.8. */
export function listedPersona(persona: Persona) {
  const { id, name, archetype, description, modeProfile, coreValues } = persona;
  const { commitmentThreshold, ...style } = persona.decisionStyle;
  return {
    id,
    name,
    archetype,
    description,
    mode_profile: modeProfile,
    core_values: coreValues,
    decision_style: { ...style, commitment_threshold: commitmentThreshold },
  };
}
