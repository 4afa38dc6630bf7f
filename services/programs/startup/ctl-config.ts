import type { Config } from '#config';
import { assertProduction } from '#startup/production';

/**
 * Configuration with which `ctl` opens stores. Throws `ConfigError` if production refuses the
 * configuration. The server checks of production are disabled, because an operator must get in to
 * repair an installation.
 */
export function ctlConfig(config: Config): Config {
  assertProduction(config, 'ctl');
  return { ...config, SERVICE_ENVIRONMENT: 'development', SERVICE_LOG_LEVEL: 'silent' };
}
