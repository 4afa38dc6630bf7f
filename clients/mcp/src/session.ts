import type { IdentityEngine, InstanceHandle } from 'identity-engine';
import { clientOf } from './configuration.ts';
import { UnknownInstanceError } from './failures.ts';

/** URI of the contract of an instance. */
export function contractUri(instanceId: string): string {
  return `identity://instances/${instanceId}/contract`;
}

/** The instances that one connection or request may use, and the API key for the instances. */
export class Session {
  readonly apiKey: string;
  readonly instanceIds: readonly string[];
  readonly #client: IdentityEngine;

  /** Throws an `IdentityEngineError` for a key with invalid characters. */
  constructor(apiKey: string, instanceIds: readonly string[]) {
    this.apiKey = apiKey;
    this.instanceIds = instanceIds;
    this.#client = clientOf(apiKey);
  }

  /**
   * The instance with this id; without id, the only instance. Sends no request. Throws an
   * `UnknownInstanceError`.
   */
  instance(id?: string): InstanceHandle {
    const [first, second] = this.instanceIds;
    const wanted = id ?? (second === undefined ? first : undefined);
    if (wanted === undefined || !this.instanceIds.includes(wanted)) {
      throw new UnknownInstanceError();
    }
    return this.#client.instance(wanted);
  }

  /** The instance whose contract has this URI. Throws an `UnknownInstanceError`. */
  instanceOf(uri: string): InstanceHandle {
    return this.instance(this.instanceIds.find((id) => contractUri(id) === uri) ?? '');
  }
}
