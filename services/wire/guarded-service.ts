import * as grpc from '@grpc/grpc-js';
import { CALLERS, rolesOfPeer } from '#wire/wire-roles';
import type { WireService } from '#wire/wire-service';

/** Hears of a call that was refused: the method's path, and the roles of its caller. */
export type OnRefused = (path: string, roles: readonly string[]) => void;

/** What every kind of handler gets, and what only one that answers once gets. */
type Call = { getAuthContext(): { sslPeerCertificate?: { raw: Buffer } } };
type Respond = (error: { readonly code: number; readonly details: string }) => void;
type Handler = (call: Call & NodeJS.EventEmitter, respond?: Respond) => void;

/**
 * `service` for those alone whom `CALLERS` lets call it, by the certificate that the connection was
 * opened with. Others get PERMISSION_DENIED before anything is done; a stream is looked at once, when
 * it begins.
 */
export function guardedService(service: WireService, onRefused: OnRefused): WireService {
  const implementation: Record<string, Handler> = {};
  for (const [name, { path }] of Object.entries(service.definition)) {
    const handler = service.implementation[name] as unknown as Handler;
    implementation[name] = (call, respond) => {
      const roles = rolesOfPeer(call.getAuthContext().sslPeerCertificate?.raw);
      if (roles.some((role) => CALLERS[path]?.includes(role))) {
        handler(call, respond);
        return;
      }
      onRefused(path, roles);
      const refusal = {
        code: grpc.status.PERMISSION_DENIED,
        details: `${path} is not for ${roles.join(', ') || 'a certificate without a role'}`,
      };
      if (respond === undefined) call.emit('error', refusal);
      else respond(refusal);
    };
  }
  return { ...service, implementation: implementation as never };
}
