/* Creates, forks and renames on the wire, with and without tags. */
import {
  DESCRIPTION_LENGTH_MAX,
  MODE_COUNT,
  NAME_LENGTH_MAX,
  TAGS_LENGTH_MAX,
  TAGS_MAX,
} from '#grpc/call-bounds';
import type { EngineCommand } from '#grpc/engine-messages';
import { brokenMessage, trustInteger, trustText, trustUnit, unknownCall } from '#grpc/frame';
import type {
  EngineRequest,
  TaggedChange,
  CreateInstance as WireCreate,
  RenameInstance as WireRename,
} from '#grpc/gen/identity_engine/v1/engine';
import { forkFromWire, forkToWire } from '#grpc/past-codec';

type WireCommand = NonNullable<EngineRequest['command']>;
type WireUntagged = NonNullable<TaggedChange['change']>;
/** Command that sets the texts of an instance. */
export type NamingCommand = Extract<EngineCommand, { kind: 'create' | 'rename' }>;

/**
 * Encodes a create, a fork or a rename. With tags, the command is a separate command, because an
 * engine of release 1.0 would ignore an added field.
 */
export function namingToWire(command: NamingCommand): WireCommand {
  const change = untaggedToWire(command);
  const { tagsJson } = command;
  return tagsJson === undefined ? change : { $case: 'tagged', value: { tagsJson, change } };
}

function untaggedToWire(command: NamingCommand): WireUntagged {
  if (command.kind === 'rename') {
    const { name, description } = command;
    return { $case: 'rename', value: { name, description } };
  }
  if (command.fork?.start !== undefined) return forkToWire(command, command.fork.start);
  const { name, description, energyLevel, instancesMax } = command;
  const modeStrengths = [...command.modeStrengths];
  return {
    $case: 'create',
    value: { name, description, modeStrengths, energyLevel, instancesMax },
  };
}

/** Decodes a create, a fork or a rename without tags. Throws `internal` for a value out of bounds. */
export function untaggedFromWire(wire: WireUntagged): NamingCommand {
  switch (wire.$case) {
    case 'create':
      return createFromWire(wire.value);
    case 'fork':
      return forkFromWire(wire.value);
    case 'rename':
      return renameFromWire(wire.value);
  }
}

/**
 * Decodes a create, a fork or a rename with tags. Throws `upgrade_in_progress` for a change of a
 * later release, and `internal` for a value out of bounds.
 */
export function taggedFromWire({ tagsJson, change }: TaggedChange): NamingCommand {
  if (change === undefined) throw unknownCall();
  return { ...untaggedFromWire(change), tagsJson: tagsFromWire(tagsJson) };
}

/** Checks tags as JSON text. Throws `internal` for a value out of bounds. */
export function tagsFromWire(tagsJson: string): string {
  trustText(tagsJson, '{}'.length, TAGS_LENGTH_MAX, 'tags');
  if (!isTagsJson(tagsJson)) throw brokenMessage('tags');
  return tagsJson;
}

/** Whether a text is a JSON object of at most `TAGS_MAX` texts. */
export function isTagsJson(json: string): boolean {
  try {
    return isTags(JSON.parse(json));
  } catch {
    return false;
  }
}

/** Whether a value is an object of at most `TAGS_MAX` texts. */
export function isTags(value: unknown): value is Readonly<Record<string, string>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  const texts: unknown[] = Object.values(value);
  return texts.length <= TAGS_MAX && texts.every((text) => typeof text === 'string');
}

function renameFromWire({ name, description }: WireRename): NamingCommand {
  return {
    kind: 'rename',
    name: optional(name, NAME_LENGTH_MAX, 'name'),
    description: optional(description, DESCRIPTION_LENGTH_MAX, 'description'),
  };
}

function createFromWire(wire: WireCreate): NamingCommand {
  trustInteger(wire.modeStrengths.length, MODE_COUNT, MODE_COUNT, 'number of modes');
  for (const strength of wire.modeStrengths) trustUnit(strength, 'mode strength');
  const create = {
    kind: 'create',
    name: trustText(wire.name, 1, NAME_LENGTH_MAX, 'name'),
    description: trustText(wire.description, 0, DESCRIPTION_LENGTH_MAX, 'description'),
    modeStrengths: wire.modeStrengths,
    energyLevel: trustUnit(wire.energyLevel, 'energy level'),
  } as const;
  const { instancesMax } = wire;
  return instancesMax === undefined ? create : { ...create, instancesMax };
}

function optional(text: string | undefined, lengthMax: number, what: string): string | undefined {
  return text === undefined ? undefined : trustText(text, 0, lengthMax, what);
}
