import { z } from 'zod';
import { filled, flag, port } from '#platform/variable-values';

/** The variables of the console, a part of those of `config`. */
export const CONSOLE_VARIABLES = {
  SERVICE_CONSOLE_ENABLED: flag
    .default(true)
    .describe('Whether a standalone process opens the console; a process of its own always does.'),
  SERVICE_CONSOLE_HOST: filled.default('127.0.0.1').describe('Address the console listens on.'),
  SERVICE_CONSOLE_PORT: port.default(8_002).describe('Port of the console; 0 takes a free one.'),
  SERVICE_CONSOLE_ORIGIN: z
    .url({ protocol: /^https?$/, error: 'must be https://host or http://host' })
    .refine(
      (url) => URL.parse(url)?.origin === url,
      'must be lower case, and have no path or slash',
    )
    .optional()
    .describe(
      'Where browsers reach the console, as https://console.example.com; links lead there, and with https its cookies are for TLS alone. Left out: on loopback, over HTTP.',
    ),
} as const;
