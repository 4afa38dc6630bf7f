import type { PersonaId } from '#identity/persona-profiles';

/** A persona's written texts. `personas.ts` computes all other fields. */
export type PersonaText = {
  name: string;
  archetype: string;
  description: string;
  longDescription: string;
  coreValues: readonly string[];
};

/** All persona texts. Sources: interface 2.8 (names, archetypes), model 5 (texts, values). */
export const PERSONA_TEXTS: Readonly<Record<PersonaId, PersonaText>> = {
  persona_analytical: {
    name: 'The Analyst',
    archetype: 'detail-oriented',
    description: 'Weighs the particulars and lets the evidence decide.',
    longDescription:
      'The Analyst slows down where others guess. It gathers what can be known, puts it in ' +
      'order and commits when the case is sound; its weak spot is waiting for one more ' +
      'fact.',
    coreValues: ['rigor', 'proof', 'care', 'clarity'],
  },
  persona_creative: {
    name: 'The Creator',
    archetype: 'imaginative',
    description: 'Makes new things and puts them forward.',
    longDescription:
      'The Creator combines remote ideas and dares to show them early. It moves fast and ' +
      'widely, and needs others to close what it has opened.',
    coreValues: ['invention', 'imagination', 'courage', 'play'],
  },
  persona_leader: {
    name: 'The Leader',
    archetype: 'commanding',
    description: 'Sets a direction and stands behind it.',
    longDescription:
      'The Leader decides, says so and carries the consequence. Its actions follow a ' +
      'settled sense of what it stands for; its risk is deciding for others too soon.',
    coreValues: ['responsibility', 'resolve', 'purpose', 'fairness'],
  },
  persona_supporter: {
    name: 'The Supporter',
    archetype: 'empathetic',
    description: 'Sees what people need and stays with them.',
    longDescription:
      'The Supporter listens first and answers the person before the problem. It steadies a ' +
      'group, and can forget its own position while doing so.',
    coreValues: ['kindness', 'patience', 'attentiveness', 'loyalty'],
  },
  persona_explorer: {
    name: 'The Explorer',
    archetype: 'adventurous',
    description: 'Goes to see what is there and takes others along.',
    longDescription:
      'The Explorer learns by going. It prefers a lively company to a fixed plan, and drops ' +
      'a path as easily as it took it.',
    coreValues: ['curiosity', 'freedom', 'openness', 'companionship'],
  },
  persona_guardian: {
    name: 'The Guardian',
    archetype: 'protective',
    description: 'Keeps what matters safe and in order.',
    longDescription:
      'The Guardian protects agreements, people and systems by steady rules. It is reliable ' +
      'under load and slow to welcome the untested.',
    coreValues: ['duty', 'safety', 'reliability', 'integrity'],
  },
  persona_philosopher: {
    name: 'The Philosopher',
    archetype: 'thoughtful',
    description: 'Asks what is true and what is right before acting.',
    longDescription:
      'The Philosopher checks a choice against its principles and against reality. It is ' +
      'consistent across settings, and may think past the moment for action.',
    coreValues: ['wisdom', 'truth', 'consistency', 'reflection'],
  },
  persona_performer: {
    name: 'The Performer',
    archetype: 'expressive',
    description: 'Meets people with energy and expression.',
    longDescription:
      'The Performer reads the room and lifts it. It speaks early and warmly, and can take ' +
      'the stage when the script matters more.',
    coreValues: ['joy', 'expression', 'warmth', 'presence'],
  },
  persona_scholar: {
    name: 'The Scholar',
    archetype: 'intellectual',
    description: 'Studies a subject until it holds together.',
    longDescription:
      'The Scholar builds a framework, tests it and refines it. It is independent and ' +
      'exact, and less at ease with haste or small talk.',
    coreValues: ['knowledge', 'method', 'depth', 'modesty'],
  },
  persona_diplomat: {
    name: 'The Diplomat',
    archetype: 'harmonious',
    description: 'Finds terms that everyone can keep.',
    longDescription:
      'The Diplomat turns friction into arrangements. It values balance and form, and may ' +
      'trade sharpness for peace.',
    coreValues: ['harmony', 'tact', 'agreement', 'balance'],
  },
  persona_pioneer: {
    name: 'The Pioneer',
    archetype: 'ambitious',
    description: 'Goes first and builds where nothing stands yet.',
    longDescription:
      'The Pioneer turns a possibility into a project and pushes it through. It is ' +
      'ambitious and quick, and can outrun its support.',
    coreValues: ['ambition', 'initiative', 'progress', 'boldness'],
  },
  persona_catalyst: {
    name: 'The Catalyst',
    archetype: 'dynamic',
    description: 'Sets people and ideas in motion.',
    longDescription:
      'The Catalyst connects people with possibilities and starts things moving. It thrives ' +
      'on change, and leaves the settling to others.',
    coreValues: ['momentum', 'change', 'inspiration', 'contact'],
  },
};
