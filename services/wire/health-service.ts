import * as grpc from '@grpc/grpc-js';
import {
  type HealthCheckRequest,
  type HealthServer,
  HealthService,
  HealthCheckResponse_ServingStatus as ServingStatus,
} from '#wire/gen/grpc/health/v1/health';
import type { WireService } from '#wire/wire-service';

/** The standard gRPC health service: every name, and empty for the whole, is SERVING until `drain`. */
export function healthService(names: readonly string[]): WireService {
  const known = new Set(['', ...names]);
  const watchers = new Map<grpc.ServerWritableStream<HealthCheckRequest, unknown>, string>();
  let isServing = true;

  function statusOf(name: string) {
    if (!known.has(name)) return ServingStatus.SERVICE_UNKNOWN;
    return isServing ? ServingStatus.SERVING : ServingStatus.NOT_SERVING;
  }

  const implementation: HealthServer = {
    check({ request }, respond) {
      const status = statusOf(request.service);
      if (status === ServingStatus.SERVICE_UNKNOWN) {
        return respond({ code: grpc.status.NOT_FOUND, details: 'unknown service' });
      }
      respond(null, { status });
    },
    watch(call) {
      call.write({ status: statusOf(call.request.service) });
      watchers.set(call, call.request.service);
      call.on('cancelled', () => watchers.delete(call));
      call.on('close', () => watchers.delete(call));
    },
  };
  return {
    name: 'grpc.health.v1.Health',
    definition: HealthService,
    implementation,
    drain() {
      isServing = false;
      for (const [call, name] of watchers) {
        call.write({ status: statusOf(name) });
        call.end();
      }
      watchers.clear();
    },
  };
}
