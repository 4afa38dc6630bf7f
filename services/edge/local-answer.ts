import type { Admitted } from '#edge/admission';
import type { AccountCaller, AccountPorts, CheckedRequest, LocalHandler } from '#edge/endpoint';
import { UNSURE_RESET_S } from '#edge/limit-headers';
import { faultFor } from '#fault/fault';
import { type EngineAnswer, plainAnswer } from '#wire/engine-messages';

/** Where a call comes from. */
type CallOrigin = Pick<AccountCaller, 'accountId' | 'address' | 'requestId'>;

/** The answer to an admitted call that no engine is asked for. Throws the handler's refusals. */
export async function localAnswer(
  handler: LocalHandler,
  request: CheckedRequest<unknown, unknown>,
  from: CallOrigin,
  admitted: Admitted,
  ports: AccountPorts,
): Promise<EngineAnswer> {
  switch (handler.kind) {
    case 'stateless':
      return plainAnswer(JSON.stringify(await handler.answer(request)));
    case 'account': {
      const caller = accountCaller(from, admitted);
      return plainAnswer(JSON.stringify(await handler.answer(request, caller, ports)));
    }
  }
}

/** Throws `limiter_unavailable` where the limiter is of an earlier release and describes no caller. */
function accountCaller(from: CallOrigin, { allowance, description }: Admitted): AccountCaller {
  if (allowance !== undefined && description !== undefined) {
    return { ...from, allowance, description };
  }
  throw faultFor('limiter_unavailable', 'the limiter does not describe the caller', {
    retryAfterS: UNSURE_RESET_S,
  });
}
