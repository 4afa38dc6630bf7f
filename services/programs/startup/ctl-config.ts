import type { Config } from '#config';
import { assertProduction } from '#startup/production';

/**
 * Configuration for the stores that `ctl` opens. Throws `ConfigError` if production refuses the
 * configuration. Disables the server checks of production, so that an operator can repair an
 * installation.
 */
export function ctlConfig(config: Config): Config {
  assertProduction(config, 'ctl');
  return { ...config, SERVICE_ENVIRONMENT: 'development', SERVICE_LOG_LEVEL: 'silent' };
}
