import type * as grpc from '@grpc/grpc-js';

/** A service as a server takes it in. */
export type WireService = {
  /** Full name, as the health protocol names it. */
  readonly name: string;
  readonly definition: grpc.ServiceDefinition;
  readonly implementation: grpc.UntypedServiceImplementation;
  /** Takes no new calls from now on, and lets go of its streams when those in flight are answered. */
  drain(): void;
};
