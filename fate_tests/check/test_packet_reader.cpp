// SPDX-License-Identifier: LGPL-2.1-or-later
// Packets of codestreams: which bytes are which block's, against a sequential reader of headers; layers that are left
// out, codestreams that are cut. With --bench the host's part of decoding on a device, of a picture of 3840x2160.
#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "../../common/j2k/codestream/read_headers.h"
#include "../../common/j2k/decoder_params.h"
#include "../../common/j2k/t1/block.h"
#include "../../cuda_kernels/j2k/t2/block_lists.h"
#include "j2k_case.h"
#include "packet_header.h"
#include "pictures.h"
#include "testing.h"

using namespace cudaenc;
using namespace cudaenc::j2k;
using namespace cudaenc::testing;

namespace {

using Bytes = std::vector<uint8_t>;
constexpr DecoderOptions kOptions = {.max_pixels = 1 << 24};

struct Piece {
    size_t at;
    uint32_t bytes, layer;
    bool operator==(const Piece &) const = default;
};
using Pieces = std::map<uint32_t, std::vector<Piece>>;  // by block

Bytes code(Random &random, const CudaencFormat &format, bool ht) {
    std::string text;
    Log log;
    CudaencConfig config = make_config(format, "cpu", &log);
    config.j2k = ht ? random_ht_options(random, format, text) : random_options(random, format, text);
    config.j2k.format = CUDAENC_J2K_CODESTREAM;
    try {
        make_params(format, config.j2k);
    } catch (const Error &) {
        config.j2k.roi = nullptr;  // there are too many bit-planes
    }
    Picture picture = make_picture(random, format);
    fill(random, picture, static_cast<Content>(random.below(static_cast<uint32_t>(Content::kinds))));
    return encode(config, picture.frame());
}

// A codestream with what its headers say.
struct Coded {
    Bytes bytes;
    Description d;
    Geometry g;
    explicit Coded(Bytes codestream)
        : bytes(std::move(codestream)), d(read_headers(bytes)), g(make_decoder_geometry(d, bytes.size(), kOptions)) {}
};

// The bytes of a tile's blocks, header bit by header bit.
Pieces read_sequentially(const Coded &coded, uint32_t tile) {
    const Description &d = coded.d;
    const TilePart &packets = coded.g.tile_parts[tile];
    std::vector<const CodedTilePart *> parts;
    for (const CodedTilePart &part : d.coded_tile_parts)
        if (part.tile == tile) parts.push_back(&part);
    std::map<uint32_t, BandReader> bands;  // by the first block
    Pieces pieces;
    size_t part = 0, at = parts[0]->begin;
    for (uint32_t p = packets.first_packet; p < packets.last_packet; p++) {
        const Packet &packet = coded.g.packets[p];
        while (at == parts[part]->end) at = parts[++part]->begin;
        const auto has = [&](int marker) {
            return coded.bytes[at] == 0xFF && coded.bytes[at + 1] == marker && at + 1 < parts[part]->end;
        };
        if (has(0x91)) at += 6;  // SOP
        HeaderReader in(&coded.bytes[at], parts[part]->end - at);
        const bool has_blocks = in.bit();
        for (uint32_t k = packet.first_band; k < packet.last_band; k++) {
            const PrecinctBand &band = coded.g.precinct_bands[k];
            const uint32_t style = d.of_tile(tile).of_component(band.component).style;
            BandReader &reader = bands.try_emplace(band.first_block, band.columns, band.rows, style).first->second;
            if (has_blocks) reader.read(in, packet.layer);
        }
        at += in.finish();
        if (has(0x92)) at += 2;  // EPH
        for (uint32_t k = packet.first_band; k < packet.last_band && has_blocks; k++) {
            const uint32_t first = coded.g.precinct_bands[k].first_block;
            const std::vector<HeaderBlock> &blocks = bands.at(first).blocks;
            for (uint32_t i = 0; i < blocks.size(); i++)
                for (const uint32_t bytes : blocks[i].segments) {
                    pieces[first + i].push_back({at, bytes, packet.layer});
                    at += bytes;
                }
        }
    }
    return pieces;
}

// Without their layers.
Pieces pieces_of(const TilePackets &packets) {
    Pieces pieces;
    for (uint32_t i = 0; i < packets.blocks.size(); i++)
        for (uint32_t k = packets.blocks[i].first; k != kNoPiece; k = packets.pieces[k].next)
            pieces[packets.first_block + i].push_back({packets.pieces[k].at, packets.pieces[k].bytes, 0});
    return pieces;
}

Pieces of_layers(const Pieces &all, uint32_t layers) {
    Pieces pieces;
    for (const auto &[block, of_block] : all)
        for (const Piece &piece : of_block)
            if (piece.layer < layers) pieces[block].push_back({piece.at, piece.bytes, 0});
    return pieces;
}

START_TEST(pieces_are_those_of_a_sequential_reader) {
    Random random(static_cast<uint64_t>(_i) + 1);
    TilePackets packets;  // whose memory is used again
    for (int repeat = 0; repeat < 40; repeat++) {
        const Coded coded(code(random, random_format(random, 150), repeat % 3 == 2));
        const uint32_t layers = random.one_in(2) ? ~0u : static_cast<uint32_t>(random.between(1, 3));
        const PacketReader reader(coded.bytes, coded.d, coded.g, {.layers = layers});
        for (uint32_t tile = 0; tile < static_cast<uint32_t>(coded.d.tiles()); tile++) {
            reader.read(tile, packets);
            EXPECT(packets.damage.empty(), "%s", packets.damage.c_str());
            EXPECT(pieces_of(packets) == of_layers(read_sequentially(coded, tile), layers),
                   "repeat %d, tile %u, %u layers", repeat, tile, layers);
        }
    }
}
END_TEST

// Of each block the pieces are the first ones of those that the whole has, and within the codestream.
START_TEST(pieces_of_what_is_cut) {
    Random random(static_cast<uint64_t>(_i) + 100);
    TilePackets packets;
    for (int repeat = 0; repeat < 60; repeat++) {
        Coded coded(code(random, random_format(random, 100), repeat % 3 == 2));
        const size_t begin = coded.d.coded_tile_parts.front().begin;
        const auto size = static_cast<uint32_t>(coded.bytes.size() - begin);
        std::vector<Pieces> whole;
        for (uint32_t tile = 0; tile < static_cast<uint32_t>(coded.d.tiles()); tile++)
            whole.push_back(read_sequentially(coded, tile));
        coded.bytes.resize(begin + random.below(size));
        try {
            coded.d = read_headers(coded.bytes);
        } catch (const Error &) {
            continue;  // a tile-part's header is cut
        }
        const PacketReader reader(coded.bytes, coded.d, coded.g);
        for (uint32_t tile = 0; tile < whole.size(); tile++) {
            reader.read(tile, packets);
            const Pieces all = of_layers(whole[tile], ~0u);
            for (const auto &[block, pieces] : pieces_of(packets)) {
                const std::vector<Piece> &expected = all.at(block);
                EXPECT(pieces.size() <= expected.size() && std::equal(pieces.begin(), pieces.end(), expected.begin()),
                       "repeat %d, tile %u, block %u", repeat, tile, block);
                EXPECT(pieces.back().at + pieces.back().bytes <= coded.bytes.size(), "block %u ends behind the end",
                       block);
            }
        }
    }
}
END_TEST

// Bits of a packet header, with those that are stuffed.
Bytes header_of(const std::string &bits) {
    Bytes bytes{0};
    int free = 8;
    for (const char bit : bits) {
        if (!free) bytes.push_back(0), free = bytes[bytes.size() - 2] == 0xFF ? 7 : 8;
        bytes.back() = static_cast<uint8_t>(bytes.back() | (bit - '0') << --free);
    }
    return bytes;
}

// Of a block's second layer a segment is read whose length is too long, behind one that is whole.
START_TEST(a_length_of_a_later_layer_is_damaged) {
    Random random(1);
    Log log;
    CudaencConfig config = make_config(make_format(16, 16, 1, 8, false, CUDAENC_COLOR_GRAY), "cpu", &log);
    config.j2k.format = CUDAENC_J2K_CODESTREAM;
    config.j2k.pred = CUDAENC_J2K_DWT53;
    config.j2k.cblk_style = CUDAENC_J2K_BYPASS;
    config.j2k.levels = 0;
    config.j2k.layers = 2;
    Picture picture = make_picture(random, config.format, Content::noise);
    Coded coded(encode(config, picture.frame()));
    const std::string lblock_32 = std::string(29, '1') + "0";
    // 12 passes, of 10 and 2, a byte each.
    const Bytes first = header_of("11111110011000000010001");
    // 3 passes, of 1 and 2; the length of the latter would have 33 bits.
    const Bytes second = header_of("111100" + lblock_32 + std::string(31, '0') + "1");
    auto at = coded.bytes.begin() + static_cast<ptrdiff_t>(coded.d.coded_tile_parts.front().begin);
    at = std::copy(first.begin(), first.end(), at);
    at = std::copy(second.begin(), second.end(), at + 2);
    EXPECT(at < coded.bytes.end(), "%zu bytes", coded.bytes.size());
    TilePackets packets;
    PacketReader(coded.bytes, coded.d, coded.g).read(0, packets);
    EXPECT(packets.damage.find("packet 1 of 2") != std::string::npos, "damage: %s", packets.damage.c_str());
    EXPECT(packets.pieces.size() == 2 && packets.blocks[0].last == 1 && packets.pieces[1].next == kNoPiece,
           "%zu pieces, the last one is followed by %u", packets.pieces.size(), packets.pieces.back().next);
}
END_TEST

// What packets tell of 24 669 blocks, and what kernels take of it. On one thread, as a picture in flight has it.
START_TEST(time_of_a_picture) {
    if (!benching) return;
    ThreadPool pool(1);
    for (const bool ht : {false, true})
        for (const bool reversible : {true, false}) {
            Log log;
            Random random(7);
            CudaencConfig config = make_config(make_format(3840, 2160, 3, 8, true, CUDAENC_COLOR_RGB), "cpu", &log);
            config.threads = 0;
            config.j2k.format = CUDAENC_J2K_CODESTREAM;
            config.j2k.pred = reversible ? CUDAENC_J2K_DWT53 : CUDAENC_J2K_DWT97;
            config.j2k.cblk_style = ht ? CUDAENC_J2K_HT : 0;
            Picture picture = make_picture(random, config.format, Content::smooth);
            const Coded coded(encode(config, picture.frame()));
            const std::string what = std::string(ht ? "HT" : "Part 1") + (reversible ? ", 5/3" : ", 9/7");
            const auto blocks = static_cast<double>(coded.g.blocks.size());
            bench(what + ": main header", 1, "headers", [&] { read_headers(coded.bytes); });
            bench(what + ": geometry", blocks, "blocks",
                  [&] { make_decoder_geometry(coded.d, coded.bytes.size(), kOptions); });
            const DecodedBlocks decoded = list_decoded_blocks(coded.d, coded.g, {}, 0);
            BlockLists lists;
            bench(what + ": packet headers", blocks, "blocks",
                  [&] { lists.read(pool, coded.bytes, coded.d, coded.g, {}, decoded); });
            std::vector<DecoderSegment> segments(lists.segments());
            std::vector<DecoderBlock> listed(decoded.blocks.size());
            bench(what + ": tables of kernels", blocks, "blocks", [&] {
                lists.write(pool, coded.bytes, decoded, {.first = 0, .last = listed.size(), .first_segment = 0},
                            nullptr, nullptr, segments.data(), listed.data());
            });
        }
}
END_TEST

}  // namespace

int main(int argc, char **argv) {
    take_arguments(argc, argv);
    Suite *suite = suite_create("packet_reader");
    TCase *host = add_case(suite, "host");
    tcase_add_loop_test(host, pieces_are_those_of_a_sequential_reader, 0, 4);
    tcase_add_loop_test(host, pieces_of_what_is_cut, 0, 3);
    tcase_add_test(host, a_length_of_a_later_layer_is_damaged);
    tcase_add_test(host, time_of_a_picture);
    return run_suite(suite);
}
