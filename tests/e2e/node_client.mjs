// The official OpenAI SDK for Node.js against a gateway: argument is the base URL. Prints "all well" at the end.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import path from 'node:path';

const require = createRequire(path.join(process.env.SMG_NODE_MODULES, 'from-here.js'));
const OpenAI = require('openai');
const client = new OpenAI({ baseURL: process.argv[2], apiKey: 'k', maxRetries: 0 });
const ask = (text = 'hi') => ({ model: 'sim', messages: [{ role: 'user', content: text }] });

async function collect(stream) {
  let text = '';
  for await (const chunk of stream) text += chunk.choices[0]?.delta?.content ?? '';
  return text;
}

const plain = await client.chat.completions.create({ ...ask(), max_tokens: 4 });
assert.equal(plain.choices[0].message.content, 'every token counts and');

assert.equal(await collect(await client.chat.completions.create({ ...ask(), max_tokens: 3, stream: true })), 'every token counts');

const texts = Array.from({ length: 32 }, (_, i) => `stream ${i} 世界 🚀`);
const streamed = await Promise.all(texts.map(async (text) =>
  collect(await client.chat.completions.create({ ...ask(), stream: true, sim_text: text, sim_interval_ms: 3 }))));
assert.deepEqual(streamed, texts);

const tool = await client.chat.completions.create({
  ...ask('use a tool'),
  tools: [{ type: 'function', function: { name: 'get_weather', parameters: { type: 'object', properties: {} } } }],
});
assert.deepEqual(JSON.parse(tool.choices[0].message.tool_calls[0].function.arguments), { city: 'Paris' });

for (const [status, error] of [[400, OpenAI.BadRequestError], [429, OpenAI.RateLimitError], [500, OpenAI.InternalServerError]]) {
  await assert.rejects(client.chat.completions.create({ ...ask(), sim_status: status }), error);
}
await assert.rejects(client.chat.completions.create({ ...ask(), model: 'none' }), OpenAI.NotFoundError);

// A stream that is given up half-way must not disturb the next request.
const abandoned = await client.chat.completions.create({ ...ask(), max_tokens: 1000, stream: true });
for await (const _ of abandoned) break;
assert.equal(await collect(await client.chat.completions.create({ ...ask(), max_tokens: 2, stream: true })), 'every token');

console.log('all well');
