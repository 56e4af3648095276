// The numbers by which rtnetlink(7) and nf_tables are told to lead every connection of a network to
// one place, and what accepted connections say about where they were going.
// Static inline functions and numbers only; no logic.
#pragma once
#include <errno.h>
#include <linux/if_addr.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>
#include <stdint.h>
#include <sys/socket.h>

static const int32_t REDIRECT_ROUTES = NETLINK_ROUTE;
static const int32_t REDIRECT_FILTERS = NETLINK_NETFILTER;

static inline int redirect_socket(int protocol) {
    return socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol);
}

// Messages and their flags.
static const uint16_t REDIRECT_REQUEST = NLM_F_REQUEST;
static const uint16_t REDIRECT_ACKNOWLEDGE = NLM_F_ACK;
static const uint16_t REDIRECT_CREATE = NLM_F_CREATE;
static const uint16_t REDIRECT_APPEND = NLM_F_APPEND;
static const uint16_t REDIRECT_NESTED = NLA_F_NESTED;
static const uint16_t REDIRECT_ANSWER = NLMSG_ERROR;
static const uint16_t REDIRECT_NEW_ADDRESS = RTM_NEWADDR;
static const uint16_t REDIRECT_NEW_ROUTE = RTM_NEWROUTE;
static const uint16_t REDIRECT_BATCH_BEGIN = NFNL_MSG_BATCH_BEGIN;
static const uint16_t REDIRECT_BATCH_END = NFNL_MSG_BATCH_END;
static const uint16_t REDIRECT_SUBSYSTEM = NFNL_SUBSYS_NFTABLES;
static const uint16_t REDIRECT_NEW_TABLE = NFNL_SUBSYS_NFTABLES << 8 | NFT_MSG_NEWTABLE;
static const uint16_t REDIRECT_NEW_CHAIN = NFNL_SUBSYS_NFTABLES << 8 | NFT_MSG_NEWCHAIN;
static const uint16_t REDIRECT_NEW_RULE = NFNL_SUBSYS_NFTABLES << 8 | NFT_MSG_NEWRULE;

// Addresses and routes.
static const uint16_t REDIRECT_ADDRESS_LOCAL = IFA_LOCAL;
static const uint16_t REDIRECT_ROUTE_INTERFACE = RTA_OIF;
static const uint16_t REDIRECT_ROUTE_SOURCE = RTA_PREFSRC;
static const uint8_t REDIRECT_TABLE_LOCAL = RT_TABLE_LOCAL;
static const uint8_t REDIRECT_BY_BOOT = RTPROT_BOOT;
static const uint8_t REDIRECT_SCOPE_HOST = RT_SCOPE_HOST;
static const uint8_t REDIRECT_TYPE_LOCAL = RTN_LOCAL;

// Tables, chains and rules of nf_tables. Each expression has a name, and attributes of its own.
/// NFPROTO_INET and NF_INET_LOCAL_OUT, whose header defines what <netinet/in.h> defines, too.
static const uint8_t REDIRECT_FAMILY_BOTH = 1;
static const uint32_t REDIRECT_HOOK_OUTPUT = 3;
/// NF_IP_PRI_NAT_DST.
static const int32_t REDIRECT_PRIORITY = -100;
static const uint16_t REDIRECT_TABLE_NAME = NFTA_TABLE_NAME;
static const uint16_t REDIRECT_CHAIN_TABLE = NFTA_CHAIN_TABLE;
static const uint16_t REDIRECT_CHAIN_NAME = NFTA_CHAIN_NAME;
static const uint16_t REDIRECT_CHAIN_TYPE = NFTA_CHAIN_TYPE;
static const uint16_t REDIRECT_CHAIN_HOOK = NFTA_CHAIN_HOOK;
static const uint16_t REDIRECT_HOOK_NUMBER = NFTA_HOOK_HOOKNUM;
static const uint16_t REDIRECT_HOOK_PRIORITY = NFTA_HOOK_PRIORITY;
static const uint16_t REDIRECT_RULE_TABLE = NFTA_RULE_TABLE;
static const uint16_t REDIRECT_RULE_CHAIN = NFTA_RULE_CHAIN;
static const uint16_t REDIRECT_RULE_STEPS = NFTA_RULE_EXPRESSIONS;
static const uint16_t REDIRECT_LIST_ITEM = NFTA_LIST_ELEM;
static const uint16_t REDIRECT_STEP_NAME = NFTA_EXPR_NAME;
static const uint16_t REDIRECT_STEP_DATA = NFTA_EXPR_DATA;
static const uint16_t REDIRECT_VALUE = NFTA_DATA_VALUE;
static const uint16_t REDIRECT_VERDICT = NFTA_DATA_VERDICT;
static const uint16_t REDIRECT_VERDICT_CODE = NFTA_VERDICT_CODE;
static const uint32_t REDIRECT_REGISTER_VERDICT = NFT_REG_VERDICT;
static const uint32_t REDIRECT_REGISTER = NFT_REG_1;
/// NF_ACCEPT.
static const uint32_t REDIRECT_ACCEPT = 1;
static const uint16_t REDIRECT_META_REGISTER = NFTA_META_DREG;
static const uint16_t REDIRECT_META_KEY = NFTA_META_KEY;
static const uint32_t REDIRECT_META_NETWORK = NFT_META_NFPROTO;
static const uint32_t REDIRECT_META_TRANSPORT = NFT_META_L4PROTO;
static const uint16_t REDIRECT_COMPARE_REGISTER = NFTA_CMP_SREG;
static const uint16_t REDIRECT_COMPARE_HOW = NFTA_CMP_OP;
static const uint16_t REDIRECT_COMPARE_WITH = NFTA_CMP_DATA;
static const uint32_t REDIRECT_EQUAL = NFT_CMP_EQ;
static const uint16_t REDIRECT_PAYLOAD_REGISTER = NFTA_PAYLOAD_DREG;
static const uint16_t REDIRECT_PAYLOAD_BASE = NFTA_PAYLOAD_BASE;
static const uint16_t REDIRECT_PAYLOAD_OFFSET = NFTA_PAYLOAD_OFFSET;
static const uint16_t REDIRECT_PAYLOAD_LENGTH = NFTA_PAYLOAD_LEN;
static const uint32_t REDIRECT_NETWORK_HEADER = NFT_PAYLOAD_NETWORK_HEADER;
static const uint32_t REDIRECT_TRANSPORT_HEADER = NFT_PAYLOAD_TRANSPORT_HEADER;
static const uint16_t REDIRECT_SET_REGISTER = NFTA_IMMEDIATE_DREG;
static const uint16_t REDIRECT_SET_DATA = NFTA_IMMEDIATE_DATA;
static const uint16_t REDIRECT_PORT_REGISTER = NFTA_REDIR_REG_PROTO_MIN;

/// Where the client of a redirected connection was going; ENOENT for one that was not redirected.
static inline int redirect_original(
    int fd, int family, struct sockaddr_storage *_Nonnull address) {
    socklen_t length = sizeof *address;
    // SO_ORIGINAL_DST and IP6T_SO_ORIGINAL_DST, whose headers define what <netinet/in.h> does, too.
    return getsockopt(fd, family == AF_INET6 ? IPPROTO_IPV6 : IPPROTO_IP, 80, address, &length);
}

/// A socket that answers datagrams and never blocks.
static inline int redirect_datagram_socket(int family) {
    return socket(family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

/// Takes a datagram; a longer one than there is room for is cut.
static inline ssize_t redirect_receive(
    int fd, void *_Nonnull bytes, size_t room, struct sockaddr_storage *_Nonnull from,
    socklen_t *_Nonnull length) {
    *length = sizeof *from;
    return recvfrom(fd, bytes, room, 0, (struct sockaddr *)from, length);
}

static inline ssize_t redirect_reply(
    int fd, const void *_Nonnull bytes, size_t count, const struct sockaddr_storage *_Nonnull to,
    socklen_t length) {
    return sendto(fd, bytes, count, MSG_NOSIGNAL, (const struct sockaddr *)to, length);
}
