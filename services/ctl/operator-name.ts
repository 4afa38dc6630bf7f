import { userInfo } from 'node:os';
import { USER_NAME } from '#limiter/admin-audit';

/** The user of this process; undefined for one that is a mere number, as in some containers. */
export function operatorName(): string | undefined {
  try {
    const { username } = userInfo();
    return USER_NAME.test(username) ? username : undefined;
  } catch {
    return undefined;
  }
}
