import { z } from 'zod';
import { REQUEST_ID } from '#edge/request-id';
import { FAULTS } from '#fault/error-codes';
import { REASONS } from '#fault/error-reasons';
import { MODE_KEYS } from '#identity/modes';

const codes = Object.keys(FAULTS) as (keyof typeof FAULTS)[];
const reasons = Object.keys(REASONS) as (keyof typeof REASONS)[];

/** Source: interface 7, decision 2. */
export const ErrorBody = z
  .strictObject({
    error: z.enum(codes),
    message: z.string(),
    retry_after: z.int().min(1).optional().describe('Seconds; on 429.'),
    details: z
      .strictObject({
        field: z.string().optional(),
        reason: z.enum(reasons).optional(),
        alias: z.literal('rate_limit_exceeded').optional(),
        mode: z.enum(MODE_KEYS).optional(),
        request_id: z.string().regex(REQUEST_ID).optional(),
      })
      .optional(),
  })
  .meta({ id: 'Error' });
