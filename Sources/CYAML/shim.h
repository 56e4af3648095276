// What LupinRules sees of libyaml: events as flat values, since Swift reads no unions safely.
#pragma once
#include <yaml.h>

/// An event, without what lupin has no use for.
typedef struct {
    int type;
    /// From 0; the column in Unicode scalars.
    size_t line, column;
    /// The anchor that the node gets, or that an alias names.
    const yaml_char_t *anchor;
    const yaml_char_t *text;
    size_t length;
    int is_plain;
} yaml_flat_event;

static inline yaml_flat_event yaml_flatten(const yaml_event_t *event) {
    yaml_flat_event flat = {
        .type = event->type,
        .line = event->start_mark.line,
        .column = event->start_mark.column,
    };
    switch (event->type) {
    case YAML_ALIAS_EVENT: flat.anchor = event->data.alias.anchor; break;
    case YAML_SEQUENCE_START_EVENT: flat.anchor = event->data.sequence_start.anchor; break;
    case YAML_MAPPING_START_EVENT: flat.anchor = event->data.mapping_start.anchor; break;
    case YAML_SCALAR_EVENT:
        flat.anchor = event->data.scalar.anchor;
        flat.text = event->data.scalar.value;
        flat.length = event->data.scalar.length;
        flat.is_plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE
            || event->data.scalar.style == YAML_ANY_SCALAR_STYLE;
        break;
    default: break;
    }
    return flat;
}

// Enumerators as the numbers that the flat event has.
static const int YAML_FLAT_STREAM_START = YAML_STREAM_START_EVENT;
static const int YAML_FLAT_STREAM_END = YAML_STREAM_END_EVENT;
static const int YAML_FLAT_DOCUMENT_START = YAML_DOCUMENT_START_EVENT;
static const int YAML_FLAT_DOCUMENT_END = YAML_DOCUMENT_END_EVENT;
static const int YAML_FLAT_ALIAS = YAML_ALIAS_EVENT;
static const int YAML_FLAT_SCALAR = YAML_SCALAR_EVENT;
static const int YAML_FLAT_SEQUENCE_START = YAML_SEQUENCE_START_EVENT;
static const int YAML_FLAT_SEQUENCE_END = YAML_SEQUENCE_END_EVENT;
static const int YAML_FLAT_MAPPING_START = YAML_MAPPING_START_EVENT;
static const int YAML_FLAT_MAPPING_END = YAML_MAPPING_END_EVENT;
