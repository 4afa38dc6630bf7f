import type { Config } from '#config';
import { assertProduction } from '#process/production';

/**
 * The configuration by which `ctl` opens stores. Throws `ConfigError` for one that production refuses;
 * beyond that the operator who repairs an installation must get in although its servers are not as they
 * should be.
 */
export function ctlConfig(config: Config): Config {
  assertProduction(config, 'ctl');
  return { ...config, SERVICE_ENVIRONMENT: 'development', SERVICE_LOG_LEVEL: 'silent' };
}
