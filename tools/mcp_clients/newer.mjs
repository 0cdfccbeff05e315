// Runs the client of both eras; its argument is the era: legacy, auto, or a revision that it pins.

import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { asked } from './asking.mjs';

const era = process.argv[2];
const mode = ['legacy', 'auto'].includes(era) ? era : { pin: era };

await asked(
  StreamableHTTPClientTransport,
  () => new Client({ name: 'newer', version: '1' }, { versionNegotiation: { mode } }),
  (parameters) => parameters,
);
